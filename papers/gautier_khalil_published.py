"""What Gautier and Khalil 1990 prints, typed in with its place; i stands for j - 1, a and t for alpha and theta."""

from __future__ import annotations

# table I: alpha [deg], d, r of each joint
TABLE_I = ((0, "0", "0"), (-90, "0", "0"), (0, "D3", "R3"), (-90, "D4", "R4"), (90, "0", "0"), (-90, "0", "0"))

# equation (15), a rotational joint j
EQUATION_15 = {
    "XXj": "XXj - YYj",
    "XXi": "XXi + YYj + 2*r*MZj + r**2*Mj",
    "XYi": "XYi + d*sin(a)*MZj + d*r*sin(a)*Mj",
    "XZi": "XZi - d*cos(a)*MZj - d*r*cos(a)*Mj",
    "YYi": "YYi + cos(a)**2*YYj + 2*r*cos(a)**2*MZj + (d**2 + r**2*cos(a)**2)*Mj",
    "YZi": "YZi + cos(a)*sin(a)*YYj + 2*r*cos(a)*sin(a)*MZj + r**2*cos(a)*sin(a)*Mj",
    "ZZi": "ZZi + sin(a)**2*YYj + 2*r*sin(a)**2*MZj + (d**2 + r**2*sin(a)**2)*Mj",
    "MXi": "MXi + d*Mj",
    "MYi": "MYi - sin(a)*MZj - r*sin(a)*Mj",
    "MZi": "MZi + cos(a)*MZj + r*cos(a)*Mj",
    "Mi": "Mi + Mj",
}

# equation (16), a translational joint j
EQUATION_16 = {
    "XXi": "XXi + cos(t)**2*XXj - 2*cos(t)*sin(t)*XYj + sin(t)**2*YYj",
    "XYi": "XYi + cos(t)*sin(t)*cos(a)*XXj + (cos(t)**2 - sin(t)**2)*cos(a)*XYj - cos(t)*sin(a)*XZj"
    " - cos(t)*sin(t)*cos(a)*YYj + sin(t)*sin(a)*YZj",
    "XZi": "XZi + cos(t)*sin(t)*sin(a)*XXj + (cos(t)**2 - sin(t)**2)*sin(a)*XYj + cos(t)*cos(a)*XZj"
    " - cos(t)*sin(t)*sin(a)*YYj - sin(t)*cos(a)*YZj",
    "YYi": "YYi + sin(t)**2*cos(a)**2*XXj + 2*cos(t)*sin(t)*cos(a)**2*XYj - 2*sin(t)*cos(a)*XZj"
    " + cos(t)**2*cos(a)**2*YYj - 2*cos(t)*cos(a)*sin(a)*YZj + sin(a)**2*ZZj",
    "YZi": "YZi + sin(t)**2*cos(a)*sin(a)*XXj + 2*cos(t)*sin(t)*cos(a)*sin(a)*XYj"
    " + sin(t)*(cos(a)**2 - sin(a)**2)*XZj + cos(t)**2*cos(a)*sin(a)*YYj"
    " + cos(t)*(cos(a)**2 - sin(a)**2)*YZj - cos(a)*sin(a)*ZZj",
    "ZZi": "ZZi + sin(t)**2*sin(a)**2*XXj + 2*cos(t)*sin(t)*sin(a)**2*XYj + 2*sin(t)*cos(a)*sin(a)*XZj"
    " + cos(t)**2*sin(a)**2*YYj + 2*cos(t)*cos(a)*sin(a)*YZj + cos(a)**2*ZZj",
}

# equations (19) and (20): translational link j parallel to r1, twist 0 and 90 degrees.  (20) writes YY of link j - 1.
EQUATION_19 = {
    "ZZi": "ZZi + 2*d*cos(t)*MXj - 2*d*sin(t)*MYj",
    "MXi": "MXi + cos(t)*MXj - sin(t)*MYj",
    "MYi": "MYi + sin(t)*MXj + cos(t)*MYj",
}
EQUATION_20 = {
    "YYi": "YYi + 2*d*cos(t)*MXj - 2*d*sin(t)*MYj",
    "MXi": "MXi + cos(t)*MXj - sin(t)*MYj",
    "MZi": "MZi + sin(t)*MXj + cos(t)*MYj",
}

# appendix, (A3) to (A7): the blocks of lambda; CS(x) stands for cos(x)*sin(x) and so on, as in the paper
DJ = """
cos(t)**2 | cos(t)*sin(t)*cos(a) | cos(t)*sin(t)*sin(a) | sin(t)**2*cos(a)**2 | sin(t)**2*cos(a)*sin(a) | sin(t)**2*sin(a)**2
-2*cos(t)*sin(t) | (cos(t)**2-sin(t)**2)*cos(a) | (cos(t)**2-sin(t)**2)*sin(a) | 2*cos(t)*sin(t)*cos(a)**2 | 2*cos(t)*sin(t)*cos(a)*sin(a) | 2*cos(t)*sin(t)*sin(a)**2
0 | -cos(t)*sin(a) | cos(t)*cos(a) | -2*sin(t)*cos(a)*sin(a) | sin(t)*(cos(a)**2-sin(a)**2) | 2*sin(t)*cos(a)*sin(a)
sin(t)**2 | -cos(t)*sin(t)*cos(a) | -cos(t)*sin(t)*sin(a) | cos(t)**2*cos(a)**2 | cos(t)**2*cos(a)*sin(a) | cos(t)**2*sin(a)**2
0 | sin(t)*sin(a) | -sin(t)*cos(a) | -2*cos(t)*cos(a)*sin(a) | cos(t)*(cos(a)**2-sin(a)**2) | 2*cos(t)*cos(a)*sin(a)
0 | 0 | 0 | sin(a)**2 | -cos(a)*sin(a) | cos(a)**2
"""  # noqa: E501  a row of the matrix per line
DS_TRANSPOSED = """
0 | 0 | 2*r
-d*sin(t)*cos(a) + r*cos(t)*sin(a) | -d*cos(t)*cos(a) - r*sin(t)*sin(a) | d*sin(a)
-d*sin(t)*sin(a) - r*cos(t)*cos(a) | -d*cos(t)*sin(a) + r*sin(t)*cos(a) | -d*cos(a)
2*(d*cos(t) + r*sin(t)*cos(a)*sin(a)) | 2*(-d*sin(t) + r*cos(t)*cos(a)*sin(a)) | 2*r*cos(a)**2
r*sin(t)*(sin(a)**2 - cos(a)**2) | r*cos(t)*(sin(a)**2 - cos(a)**2) | 2*r*cos(a)*sin(a)
2*(d*cos(t) - r*sin(t)*cos(a)*sin(a)) | 2*(-d*sin(t) - r*cos(t)*cos(a)*sin(a)) | 2*r*sin(a)**2
"""
DM = "r**2 | d*r*sin(a) | -d*r*cos(a) | d**2 + r**2*cos(a)**2 | r**2*cos(a)*sin(a) | d**2 + r**2*sin(a)**2"
A = """
cos(t) | cos(a)*sin(t) | sin(a)*sin(t)
-sin(t) | cos(a)*cos(t) | sin(a)*cos(t)
0 | -sin(a) | cos(a)
"""
P = "d | -r*sin(a) | r*cos(a)"

# section V, step b: what is written down when link j has been treated
STEPS = {
    6: {
        "XX6": "XX6 - YY6",
        "XX5": "XX5 + YY6",
        "ZZ5": "ZZ5 + YY6",
        "MY5": "MY5 + MZ6",
        "M5": "M5 + M6",
    },
    5: {
        "XX5": "XX5 + YY6 - YY5",
        "XX4": "XX4 + YY5",
        "ZZ4": "ZZ4 + YY5",
        "MY4": "MY4 - MZ5",
        "M4": "M4 + M5 + M6",
    },
    4: {
        "XX4": "XX4 + YY5 - YY4",
        "XX3": "XX3 + YY4 + 2*R4*MZ4 + R4**2*(M4 + M5 + M6)",
        "XY3": "XY3 - D4*MZ4 - D4*R4*(M4 + M5 + M6)",
        "YY3": "YY3 + D4**2*(M4 + M5 + M6)",
        "ZZ3": "ZZ3 + YY4 + 2*R4*MZ4 + (D4**2 + R4**2)*(M4 + M5 + M6)",
        "MX3": "MX3 + D4*(M4 + M5 + M6)",
        "MY3": "MY3 + MZ4 + R4*(M4 + M5 + M6)",
        "M3": "M3 + M4 + M5 + M6",
    },
    3: {
        "XX3": "XX3 + YY4 + 2*R4*MZ4 + (R4**2 - D4**2)*(M4 + M5 + M6) - YY3",
        "XX2": "XX2 + YY3 + 2*R3*MZ3 + R3**2*(M3 + M4 + M5 + M6) + D4**2*(M4 + M5 + M6)",
        "XZ2": "XZ2 - D3*MZ3 - D3*R3*(M3 + M4 + M5 + M6)",
        "YY2": "YY2 + YY3 + D4**2*(M4 + M5 + M6) + 2*R3*MZ3 + (D3**2 + R3**2)*(M3 + M4 + M5 + M6)",
        "ZZ2": "ZZ2 + D3**2*(M3 + M4 + M5 + M6)",
        "MX2": "MX2 + D3*(M3 + M4 + M5 + M6)",
        "MZ2": "MZ2 + MZ3 + R3*(M3 + M4 + M5 + M6)",
        "M2": "M2 + M3 + M4 + M5 + M6",
    },
    2: {
        "XX2": "XX2 - YY2 - D3**2*(M3 + M4 + M5 + M6)",
        "ZZ1": "ZZ1 + YY2 + YYR3 + 2*R3*MZ3 + (R3**2 + D3**2)*(M3 + M4 + M5 + M6)",
    },
}

# section V: parameters without effect (step a, and the end of step b), kept parameters of links 1 to 6
WITHOUT_EFFECT = ("XX1", "XY1", "XZ1", "YY1", "YZ1", "MX1", "MY1", "MZ1", "M1", "MZ2", "M2")
REGROUPED = ("YY2", "YY3", "MZ3", "M3", "YY4", "MZ4", "M4", "YY5", "MZ5", "M5", "YY6", "MZ6", "M6")
KEPT = (
    *("ZZR1", "XXR2", "XY2", "XZR2", "YZ2", "ZZR2", "MXR2", "MY2"),
    *("XXR3", "XYR3", "XZ3", "YZ3", "ZZR3", "MXR3", "MYR3", "XXR4", "XY4", "XZ4", "YZ4", "ZZR4", "MX4", "MYR4"),
    *("XXR5", "XY5", "XZ5", "YZ5", "ZZR5", "MX5", "MYR5", "XXR6", "XY6", "XZ6", "YZ6", "ZZ6", "MX6", "MY6"),
)
COUNT = 36  # section VI
