"""A robot of 60 joints: three chains of twenty."""

from __future__ import annotations

LINK = (
    "<link name='l{k}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    "</inertial></link><joint name='j{k}' type='revolute'><parent link='l{p}'/><child link='l{k}'/>"
    "<origin xyz='0.1 0 0' rpy='1.5707963 0 0'/><axis xyz='0 0 1'/><limit velocity='1' effort='1'/></joint>"
)


def sixty_joints() -> str:
    """The robot as URDF."""
    links = "".join(LINK.format(k=k, p=0 if k % 20 == 1 else k - 1) for k in range(1, 61))
    return f"<robot name='sixty'><link name='l0'/>{links}</robot>"
