import { useEffect, useMemo, useRef, useState } from "react";
import {
  AxesHelper, Box3, BoxGeometry, BufferGeometry, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, GridHelper, Group,
  HemisphereLight, InstancedMesh, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, Object3D,
  PerspectiveCamera, PlaneGeometry, Quaternion, Raycaster, Scene as ThreeScene, SphereGeometry, Vector2, Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";
import { framesAt } from "../api";
import type { Body, Capsule, Drawing, RobotData } from "../types";

/** An arrow of length and direction `way` [m] from a place in the base frame; colour: name of a CSS variable. */
export interface Arrow { from: (number | null)[]; way: (number | null)[]; colour: string }

export interface SceneProps {
  robot: RobotData;
  drawing: Drawing;
  q: number[];
  lit?: Set<number>; // joints (from 0) whose links are marked
  showFrames?: boolean;
  showMasses?: boolean;
  showCapsules?: boolean;
  floor?: number | null;
  boxes?: number[][][][];
  ghosts?: number[][]; // postures drawn as lines from joint to joint; of trees alone
  arrows?: Arrow[];
  fitTo?: number[][]; // postures that the view must hold, besides the first
  onLink?: (joint: number | null) => void;
  label: string;
}

const UP = new Vector3(0, 1, 0);
const FROM = new Vector3(0.75, -1, 0.42).normalize(); // where the camera stands, seen from the robot
const REST = 300; // ms without a change before a picture is drawn finely
const FILLED = 0.9; // part of the picture that the robot may fill
const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";

function matrix(R: number[][], p: number[]): Matrix4 {
  return new Matrix4().set(
    R[0][0], R[0][1], R[0][2], p[0], R[1][0], R[1][1], R[1][2], p[1], R[2][0], R[2][1], R[2][2], p[2], 0, 0, 0, 1,
  );
}

/** Positions of all joints from the coordinates; null where a loop must be closed first. */
function jointPositions(robot: RobotData, q: number[]): Map<string, number> {
  const found = new Map<string, number>(robot.coordinates.map((name, k) => [name, q[k] ?? 0]));
  for (const joint of robot.joints) {
    if (joint.follows && !found.has(joint.name)) {
      const { joints, ratios, offset } = joint.follows;
      found.set(joint.name, joints.reduce((sum, name, k) => sum + ratios[k] * (found.get(name) ?? 0), offset ?? 0));
    }
  }
  return found;
}

export function poses(robot: RobotData, q: number[]): Matrix4[] {
  const positions = jointPositions(robot, q);
  const found: Matrix4[] = [];
  for (const joint of robot.joints) {
    const parent = joint.parent === null ? new Matrix4() : found[joint.parent - 1];
    const value = positions.get(joint.name) ?? 0;
    const motion = joint.kind === "prismatic" ? new Matrix4().makeTranslation(0, 0, value) : new Matrix4().makeRotationZ(value);
    found.push(new Matrix4().multiplyMatrices(parent, matrix(joint.rotation_value, joint.position_value)).multiply(motion));
  }
  return found;
}

/** Whether no graphics processor draws: then smooth edges in every picture would take half of the time of a motion. */
function isSoftware(): boolean {
  const probe = document.createElement("canvas").getContext("webgl2");
  const named = probe?.getExtension("WEBGL_debug_renderer_info");
  const name = probe && String(probe.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : probe.RENDERER));
  probe?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name ?? "");
}

/** The three.js side of one view. */
class View {
  scene = new ThreeScene();
  camera = new PerspectiveCamera(38, 1, 0.001, 500);
  renderer: WebGLRenderer;
  controls: OrbitControls;
  joints: Group[] = [];
  capsules: { capsule: Capsule; group: Group; thin: boolean }[] = [];
  parts: { joint: number | null; material: MeshStandardMaterial }[] = [];
  frames: Object3D[] = [];
  masses: Object3D[] = [];
  solids: Object3D[] = [];
  around = new Group();
  ghosts = new Group();
  arrows = new Group();
  size = 1;
  wanted = 0;
  soft: boolean;
  resting = 0;

  constructor(public canvas: HTMLCanvasElement, public robot: RobotData, public drawing: Drawing) {
    this.soft = isSoftware();
    this.renderer = new WebGLRenderer({ canvas, antialias: !this.soft, alpha: true });
    this.renderer.setPixelRatio(this.soft ? 1 : Math.min(window.devicePixelRatio, 2));
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener("change", () => this.draw());
    this.scene.add(new HemisphereLight(0xffffff, 0x8090a0, 1.7), this.around, this.ghosts, this.arrows);
    const sun = new DirectionalLight(0xffffff, 1.9);
    sun.position.set(2, -3, 5);
    this.scene.add(sun);
    this.build();
  }

  material(joint: number | null): MeshStandardMaterial {
    const made = new MeshStandardMaterial({ color: colour(joint === null ? "--link-base" : "--link"), roughness: 0.62, metalness: 0.08 });
    this.parts.push({ joint, material: made });
    return made;
  }

  build() {
    const { robot, drawing } = this;
    robot.joints.forEach(() => {
      const group = new Group();
      group.matrixAutoUpdate = false;
      this.joints.push(group);
      this.scene.add(group);
    });
    const reach = poses(robot, drawing.start).map((m) => new Vector3().setFromMatrixPosition(m).length());
    this.size = Math.max(0.1, ...reach, ...drawing.frames.map((f) => Math.hypot(...(f.position as [number, number, number]))));
    const drawn = new Set(drawing.bodies.map((b) => b.joint));
    drawing.bodies.forEach((body) => this.addBody(body));
    drawing.capsules.forEach((capsule) => {
      this.addCapsule(capsule, false);
      if (!drawn.has(capsule.joint)) this.addCapsule(capsule, true);
    });
    robot.joints.forEach((joint, j) => this.addAxis(j, joint.kind));
    drawing.masses.forEach((mass, j) => mass && this.addMass(j, mass.mass, mass.centre));
    const base = new AxesHelper(0.16 * this.size);
    this.frames.push(base);
    this.scene.add(base);
  }

  addBody(body: Body) {
    const material = this.material(body.joint);
    let mesh: Mesh;
    if (body.kind === "hull") {
      const points = (body.points ?? []).map((p) => new Vector3(p[0], p[1], p[2]));
      if (points.length < 4) return;
      try {
        mesh = new Mesh(new ConvexGeometry(points), material);
      } catch {
        return;
      }
      material.flatShading = true;
    } else {
      const size = body.size ?? [0.01];
      const geometry =
        body.kind === "box" ? new BoxGeometry(2 * size[0], 2 * size[1], 2 * size[2])
        : body.kind === "sphere" ? new SphereGeometry(size[0], 28, 18)
        : new CylinderGeometry(size[0], size[0], 2 * size[1], 32);
      if (body.kind === "cylinder" || body.kind === "capsule") geometry.rotateX(Math.PI / 2);
      mesh = new Mesh(geometry, material);
      mesh.applyMatrix4(matrix(body.R!, body.p!));
    }
    mesh.userData.joint = body.joint;
    this.solids.push(mesh);
    (body.joint === null ? this.scene : this.joints[body.joint]).add(mesh);
  }

  addCapsule(capsule: Capsule, thin: boolean) {
    const group = new Group();
    const material = thin
      ? this.material(capsule.joint)
      : new MeshBasicMaterial({ color: colour("--accent"), transparent: true, opacity: 0.16, depthWrite: false });
    const ends = [0, 1].map(() => new Mesh(new SphereGeometry(1, 24, 16), material));
    const rod = new Mesh(new CylinderGeometry(1, 1, 1, 28, 1, true), material);
    group.add(rod, ...ends);
    group.children.forEach((child) => (child.userData.joint = capsule.joint));
    if (thin) this.solids.push(...group.children);
    this.capsules.push({ capsule, group, thin });
    this.scene.add(group);
  }

  addAxis(j: number, kind: string) {
    const r = 0.028 * this.size;
    const geometry = kind === "prismatic" ? new BoxGeometry(1.8 * r, 1.8 * r, 3.4 * r) : new CylinderGeometry(r, r, 3 * r, 28);
    if (kind !== "prismatic") geometry.rotateX(Math.PI / 2);
    const mesh = new Mesh(geometry, new MeshStandardMaterial({ color: colour("--joint"), roughness: 0.5 }));
    mesh.userData.joint = j;
    this.joints[j].add(mesh);
    this.solids.push(mesh);
    const axes = new AxesHelper(0.11 * this.size);
    (axes.material as LineBasicMaterial).depthTest = false;
    axes.renderOrder = 2;
    this.frames.push(axes);
    this.joints[j].add(axes);
  }

  addMass(j: number, mass: number, centre: number[]) {
    const total = this.robot.moving_mass || mass;
    const radius = 0.07 * this.size * Math.cbrt(Math.min(1, mass / total));
    const material = new MeshBasicMaterial({ color: colour("--mark"), transparent: true, opacity: 0.85, depthTest: false });
    const mesh = new Mesh(new SphereGeometry(radius, 20, 14), material);
    mesh.position.set(centre[0], centre[1], centre[2]);
    mesh.renderOrder = 3;
    this.masses.push(mesh);
    this.joints[j].add(mesh);
  }

  place(all: Matrix4[]) {
    all.forEach((m, j) => {
      this.joints[j].matrix.copy(m);
      this.joints[j].matrixWorldNeedsUpdate = true;
    });
    const world = (point: { joint: number | null; p: number[] }) => {
      const v = new Vector3(point.p[0], point.p[1], point.p[2]);
      return point.joint === null ? v : v.applyMatrix4(all[point.joint]);
    };
    for (const { capsule, group, thin } of this.capsules) {
      const a = world(capsule.a), b = world(capsule.b), along = b.clone().sub(a), length = along.length();
      const r = capsule.radius * (thin && capsule.by_frames ? 0.62 : 1);
      const [rod, one, two] = group.children;
      rod.visible = length > 1e-6;
      rod.position.copy(a).addScaledVector(along, 0.5);
      if (length > 1e-6) rod.quaternion.copy(new Quaternion().setFromUnitVectors(UP, along.clone().normalize()));
      rod.scale.set(r, length, r);
      one.position.copy(a);
      two.position.copy(b);
      one.scale.setScalar(r);
      two.scale.setScalar(r);
    }
  }

  surround(floor: number | null | undefined, boxes: number[][][][]) {
    this.around.clear();
    const extent = 2.4 * this.size, height = floor ?? 0;
    const grid = new GridHelper(extent, 12, colour("--grid"), colour("--grid"));
    grid.rotation.x = Math.PI / 2;
    grid.position.z = height - 0.001 * this.size;
    this.around.add(grid);
    if (floor !== null && floor !== undefined) {
      const plane = new Mesh(new PlaneGeometry(extent, extent), new MeshBasicMaterial({ color: colour("--grid"), transparent: true, opacity: 0.25, side: DoubleSide, depthWrite: false }));
      plane.position.z = height - 0.002 * this.size;
      this.around.add(plane);
    }
    for (const box of boxes) {
      const points = box.flat().map((p) => new Vector3(p[0], p[1], p[2]));
      this.around.add(new LineSegments(new BufferGeometry().setFromPoints(points), new LineBasicMaterial({ color: colour("--warn") })));
    }
  }

  haunt(postures: number[][]) {
    this.ghosts.traverse((object) => object instanceof LineSegments && object.geometry.dispose());
    this.ghosts.clear();
    const material = new LineBasicMaterial({ color: colour("--lit"), transparent: true, opacity: postures.length > 1 ? 0.45 : 0.9, depthTest: false });
    const ends = this.drawing.frames.filter((frame) => frame.joint !== null);
    for (const q of postures) {
      const all = poses(this.robot, q), points: Vector3[] = [];
      const at = (j: number | null | undefined) => (j == null ? new Vector3() : new Vector3().setFromMatrixPosition(all[j]));
      this.robot.joints.forEach((joint, j) => points.push(at(joint.parent === null ? null : joint.parent - 1), at(j)));
      for (const frame of ends) points.push(at(frame.joint), new Vector3(...(frame.position as [number, number, number])).applyMatrix4(all[frame.joint!]));
      const lines = new LineSegments(new BufferGeometry().setFromPoints(points), material);
      lines.renderOrder = 1;
      this.ghosts.add(lines);
    }
  }

  /** Arrows of each colour as two meshes: shafts and heads. */
  point(arrows: Arrow[]) {
    this.arrows.traverse((object) => object instanceof InstancedMesh && object.geometry.dispose());
    this.arrows.clear();
    const thick = 0.0022 * this.size, tip = 0.02 * this.size;
    for (const name of new Set(arrows.map((arrow) => arrow.colour))) {
      const own = arrows.filter((arrow) => arrow.colour === name), material = new MeshBasicMaterial({ color: colour(name) });
      const shafts = new InstancedMesh(new CylinderGeometry(1, 1, 1, 8), material, own.length), heads = new InstancedMesh(new ConeGeometry(1, 1, 12), material, own.length);
      own.forEach(({ from, way }, k) => {
        const start = new Vector3(from[0] ?? 0, from[1] ?? 0, from[2] ?? 0), along = new Vector3(way[0] ?? 0, way[1] ?? 0, way[2] ?? 0), length = along.length();
        const head = Math.min(tip, 0.5 * length), turn = new Quaternion().setFromUnitVectors(UP, length > 0 ? along.normalize() : UP);
        const part = (middle: number, radius: number, tall: number) => new Matrix4().compose(start.clone().addScaledVector(along, middle), turn, new Vector3(radius, Math.max(tall, 1e-9), radius));
        shafts.setMatrixAt(k, part((length - head) / 2, thick, length - head));
        heads.setMatrixAt(k, part(length - head / 2, Math.max(2.6 * thick * (head / tip), thick), head));
      });
      this.arrows.add(shafts, heads);
    }
  }

  light(lit: Set<number>) {
    for (const { joint, material } of this.parts) {
      const on = joint !== null && lit.has(joint);
      material.color.set(colour(on ? "--lit" : joint === null ? "--link-base" : "--link"));
      material.emissive.set(on ? colour("--lit") : "#000");
      material.emissiveIntensity = on ? 0.35 : 0;
    }
  }

  show(frames: boolean, masses: boolean, capsules: boolean) {
    this.frames.forEach((f) => (f.visible = frames));
    this.masses.forEach((m) => (m.visible = masses));
    this.capsules.filter((c) => !c.thin).forEach((c) => (c.group.visible = capsules));
  }

  look(postures: number[][], around: number[][]) {
    const near = around.map((p) => new Vector3(p[0], p[1], p[2])).filter((p) => p.length() < 2 * this.size);
    const bounds = new Box3(), corners: Vector3[] = [...near];
    for (const q of postures) {
      this.place(poses(this.robot, q));
      this.scene.updateMatrixWorld(true);
      for (const solid of this.solids) {
        const { min, max } = new Box3().setFromObject(solid);
        for (const x of [min.x, max.x]) for (const y of [min.y, max.y]) for (const z of [min.z, max.z]) corners.push(new Vector3(x, y, z));
      }
    }
    const centre = bounds.setFromPoints(corners).getCenter(new Vector3());
    const distance = this.far(corners, centre);
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(FROM, distance);
    this.camera.near = distance / 100;
    this.camera.far = distance * 20;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  /** How far from the centre the camera must stand for points to fill its picture, but for a margin. */
  far(points: Vector3[], centre: Vector3): number {
    const right = new Vector3(0, 0, 1).cross(FROM).normalize(), above = FROM.clone().cross(right);
    const tall = Math.tan((this.camera.fov * Math.PI) / 360) * FILLED, wide = tall * (this.canvas.clientWidth / this.canvas.clientHeight || 1);
    const needed = (p: Vector3) => p.dot(FROM) + Math.max(Math.abs(p.dot(above)) / tall, Math.abs(p.dot(right)) / wide);
    return points.reduce((found, point) => Math.max(found, needed(point.clone().sub(centre))), 1.2 * this.size);
  }

  resize(width: number, height: number) {
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  draw() {
    if (this.wanted) return;
    this.wanted = requestAnimationFrame(() => {
      this.wanted = 0;
      if (this.soft) this.coarse();
      this.renderer.render(this.scene, this.camera);
    });
  }

  /** Drawn in software: whole pixels while things move, half of them once they rest. */
  coarse() {
    if (this.renderer.getPixelRatio() !== 1) this.renderer.setPixelRatio(1);
    window.clearTimeout(this.resting);
    this.resting = window.setTimeout(() => {
      this.renderer.setPixelRatio(2);
      this.renderer.render(this.scene, this.camera);
    }, REST);
  }

  linkAt(x: number, y: number): number | null {
    const box = this.canvas.getBoundingClientRect();
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height), this.camera);
    const hit = ray.intersectObjects(this.solids, false)[0];
    return hit ? ((hit.object.userData.joint as number | null) ?? null) : null;
  }

  dispose() {
    cancelAnimationFrame(this.wanted);
    window.clearTimeout(this.resting);
    this.controls.dispose();
    this.scene.traverse((object) => {
      if (object instanceof Mesh || object instanceof LineSegments) object.geometry.dispose();
    });
    this.renderer.dispose();
  }
}

export function Scene(props: SceneProps) {
  const { robot, drawing, q, label } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const [failed, setFailed] = useState(false);
  const [dark, setDark] = useState(window.matchMedia("(prefers-color-scheme: dark)").matches);
  const lit = props.lit;
  const fitTo = useRef(props.fitTo), boxes = useRef(props.boxes), arrows = useRef(props.arrows);
  const litKey = useMemo(() => [...(lit ?? [])].join(","), [lit]);

  useEffect(() => {
    const query = window.matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    let made: View;
    try {
      made = new View(element, robot, drawing);
    } catch {
      setFailed(true);
      return;
    }
    view.current = made;
    made.look(fitTo.current?.length ? fitTo.current : [drawing.start], [...(boxes.current?.flat(2) ?? []), ...(arrows.current ?? []).flatMap(({ from, way }) => [0, 1].map((end) => from.map((x, k) => (x ?? 0) + end * (way[k] ?? 0))))]);
    const resize = new ResizeObserver(() => made.resize(element.clientWidth, element.clientHeight));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.dispose();
      view.current = null;
    };
  }, [robot, drawing, dark]);

  useEffect(() => {
    let wanted = true;
    const made = view.current;
    if (!made) return;
    if (!drawing.has_loops) made.place(poses(robot, q));
    else
      framesAt(q).then(
        ({ frames }) => {
          if (!wanted) return;
          made.place(frames.map((f) => matrix(f.R, f.p)));
          made.draw();
        },
        () => undefined,
      );
    made.draw();
    return () => {
      wanted = false;
    };
  }, [robot, drawing, q, dark]);

  useEffect(() => {
    view.current?.light(lit ?? new Set());
    view.current?.draw();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [litKey, robot, drawing, dark]);

  useEffect(() => {
    view.current?.show(props.showFrames ?? true, props.showMasses ?? false, props.showCapsules ?? false);
    view.current?.draw();
  }, [props.showFrames, props.showMasses, props.showCapsules, robot, drawing, dark]);

  useEffect(() => {
    view.current?.surround(props.floor, props.boxes ?? []);
    view.current?.draw();
  }, [props.floor, props.boxes, robot, drawing, dark]);

  useEffect(() => {
    view.current?.haunt(drawing.has_loops ? [] : (props.ghosts ?? []));
    view.current?.draw();
  }, [props.ghosts, robot, drawing, dark]);

  useEffect(() => {
    view.current?.point(props.arrows ?? []);
    view.current?.draw();
  }, [props.arrows, robot, drawing, dark]);

  if (failed) return <p className="empty">The 3-D view needs WebGL, which this browser does not offer; everything else works.</p>;
  return (
    <canvas
      ref={canvas}
      className="scene"
      role="img"
      aria-label={label}
      onPointerMove={(e) => e.buttons === 0 && props.onLink?.(view.current?.linkAt(e.clientX, e.clientY) ?? null)}
      onPointerLeave={() => props.onLink?.(null)}
    />
  );
}
