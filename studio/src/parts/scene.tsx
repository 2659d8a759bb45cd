import { useEffect, useMemo, useRef, useState } from "react";
import {
  AxesHelper, Box3, BoxGeometry, BufferGeometry, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, GridHelper, Group,
  Color, Float32BufferAttribute, HemisphereLight, InstancedMesh, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial, MeshStandardMaterial, Object3D,
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
  paint?: (number | null)[]; // of each joint, from 0 to 1: how much of the colour of residuals its link has
  shapes?: Shapes;
  trail?: number[][]; // postures whose tips are joined by a line; of trees alone
  camera?: string; // a preset, or where it stands and looks, as `onCamera` says it
  onCamera?: (camera: string) => void;
  closer?: number; // another number moves the camera so that the robot fills the picture
  onLink?: (joint: number | null) => void;
  label: string;
}

type Matt = MeshStandardMaterial | MeshLambertMaterial;
export type Shapes = "on" | "transparent" | "off";
/** Directions from which the robot is seen, in the axes of its base; "3-D" is the first picture. */
export const PRESETS: Record<string, Vector3> = {
  "3-D": new Vector3(0.75, -1, 0.42).normalize(),
  front: new Vector3(1, 0, 0),
  side: new Vector3(0, -1, 0),
  top: new Vector3(0, -0.001, 1).normalize(), // not quite along the axis that is up
};

const UP = new Vector3(0, 1, 0);
const REST = 300; // ms without a change before a picture is drawn finely
const MANY = 12; // joints from which round shapes have fewer edges, so that a picture has no more of them
const GLASS = 0.28; // opacity of transparent shapes
const FILLED = 0.92; // part of the picture that the robot may fill
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

const placed = (point: number[], pose: Matrix4) => new Vector3(point[0], point[1], point[2]).applyMatrix4(pose);

/** Where one copy of a shape is. */
function copied(mesh: InstancedMesh, k: number): Matrix4 {
  const found = new Matrix4();
  mesh.getMatrixAt(k, found);
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
  capsules: { capsule: Capsule; group: Group }[] = []; // for distances
  links: Capsule[] = []; // of links without shapes
  tubes: InstancedMesh;
  balls: InstancedMesh; // two of each link
  hinges: InstancedMesh[] = []; // axes of joints, those that turn and those that slide
  triads: LineSegments;
  parts: { joint: number | null; material: Matt }[] = [];
  frames: Object3D[] = [];
  masses: Object3D[] = [];
  solids: Object3D[] = [];
  around = new Group();
  ghosts = new Group();
  arrows = new Group();
  trail = new Group();
  bones = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ color: colour("--joint") }));
  framed: { points: Vector3[]; from: Vector3 } | null = null; // what the picture is filled with, until it is turned
  size = 1;
  wanted = 0;
  soft: boolean;
  resting = 0;
  took = 0; // ms of the last coarse picture

  constructor(public canvas: HTMLCanvasElement, public robot: RobotData, public drawing: Drawing) {
    this.soft = isSoftware();
    this.renderer = new WebGLRenderer({ canvas, antialias: !this.soft, alpha: true });
    this.renderer.setPixelRatio(this.soft ? 1 : Math.min(window.devicePixelRatio, 2));
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener("change", () => this.draw());
    this.scene.add(new HemisphereLight(0xffffff, 0x8090a0, 1.7), this.around, this.ghosts, this.arrows, this.trail, this.bones);
    this.bones.visible = this.bones.frustumCulled = false;
    this.controls.addEventListener("start", () => (this.framed = null));
    const sun = new DirectionalLight(0xffffff, 1.9);
    sun.position.set(2, -3, 5);
    this.scene.add(sun);
    const drawn = new Set(drawing.bodies.map((b) => b.joint));
    this.links = drawing.capsules.filter((capsule) => !drawn.has(capsule.joint));
    const material = this.material(null), owners = this.links.map(({ joint }) => joint);
    material.color.set("#fff"); // each copy has its own colour
    this.tubes = this.copies(new CylinderGeometry(1, 1, 1, this.edges(28), 1, true), material, owners);
    this.balls = this.copies(new SphereGeometry(1, this.edges(24), this.edges(16, 4)), material, owners.flatMap((joint) => [joint, joint]));
    this.triads = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ vertexColors: true, depthTest: false }));
    this.build();
  }

  /** One mesh for all shapes of a kind: a picture then takes as long for many joints as for few. */
  copies(geometry: BufferGeometry, material: Matt, owners: (number | null)[]): InstancedMesh {
    const made = new InstancedMesh(geometry, material, owners.length);
    made.userData.joints = owners;
    made.frustumCulled = false;
    if (!owners.length) return made;
    this.solids.push(made);
    this.scene.add(made);
    return made;
  }

  /** A matt surface; in software without gloss, whose light costs most of a picture there. */
  matt(of: { color?: string }, roughness: number): Matt {
    return this.soft ? new MeshLambertMaterial(of) : new MeshStandardMaterial({ ...of, roughness, metalness: 0.08 });
  }

  material(joint: number | null): Matt {
    const made = this.matt({ color: colour(joint === null ? "--link-base" : "--link") }, 0.62);
    this.parts.push({ joint, material: made });
    return made;
  }

  /** Edges of a round shape; fewer on robots of many joints, whose links are small. */
  edges(usual: number, least = 6): number {
    return Math.max(least, Math.round(usual * Math.min(1, MANY / this.robot.joints.length)));
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
    drawing.bodies.forEach((body) => this.addBody(body));
    drawing.capsules.forEach((capsule) => this.addCapsule(capsule));
    this.addAxes();
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
        : body.kind === "sphere" ? new SphereGeometry(size[0], this.edges(28), this.edges(18))
        : new CylinderGeometry(size[0], size[0], 2 * size[1], this.edges(32));
      if (body.kind === "cylinder" || body.kind === "capsule") geometry.rotateX(Math.PI / 2);
      mesh = new Mesh(geometry, material);
      mesh.applyMatrix4(matrix(body.R!, body.p!));
    }
    mesh.userData.joint = body.joint;
    this.solids.push(mesh);
    (body.joint === null ? this.scene : this.joints[body.joint]).add(mesh);
  }

  addCapsule(capsule: Capsule) {
    const group = new Group(), material = new MeshBasicMaterial({ color: colour("--accent"), transparent: true, opacity: 0.16, depthWrite: false });
    group.add(new Mesh(this.tubes.geometry, material), ...[0, 1].map(() => new Mesh(this.balls.geometry, material)));
    group.children.forEach((part) => (part.matrixAutoUpdate = false));
    this.capsules.push({ capsule, group });
    this.scene.add(group);
  }

  /** Median distance between neighbouring joints that are apart: on long chains axes as large as usual would hide the links. */
  spacing(): number {
    const found = this.robot.joints.map((joint) => Math.hypot(...(joint.position_value as [number, number, number]))).filter((d) => d > 1e-3 * this.size).sort((a, b) => a - b);
    return found[found.length >> 1] ?? this.size;
  }

  addAxes() {
    const apart = this.spacing(), r = Math.min(0.028 * this.size, 0.3 * apart), length = Math.min(0.11 * this.size, apart);
    const turning = new CylinderGeometry(r, r, 3 * r, this.edges(28)).rotateX(Math.PI / 2), sliding = new BoxGeometry(1.8 * r, 1.8 * r, 3.4 * r);
    for (const [geometry, slides] of [[turning, false], [sliding, true]] as const) {
      const owners = this.robot.joints.map((_, j) => j).filter((j) => (this.robot.joints[j].kind === "prismatic") === slides);
      this.hinges.push(this.copies(geometry, this.matt({}, 0.5), owners));
    }
    const ends = [new Vector3(length, 0, 0), new Vector3(0, length, 0), new Vector3(0, 0, length)], none = new Vector3();
    this.triads.geometry.setFromPoints(this.robot.joints.flatMap(() => ends.flatMap(() => [none, none])));
    const colours = this.robot.joints.flatMap(() => ends.flatMap((_, k) => [0, 1].flatMap(() => [0, 1, 2].map((c) => Number(c === k)))));
    this.triads.geometry.setAttribute("color", new Float32BufferAttribute(colours, 3));
    this.triads.userData.ends = ends;
    this.triads.renderOrder = 2;
    this.triads.frustumCulled = false;
    this.frames.push(this.triads);
    this.scene.add(this.triads);
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
    for (const { capsule, group } of this.capsules)
      this.stretched(capsule, 1, world).forEach((m, k) => {
        group.children[k].matrix.copy(m);
        group.children[k].matrixWorldNeedsUpdate = true;
      });
    this.links.forEach((capsule, k) => {
      const [tube, ...ends] = this.stretched(capsule, capsule.by_frames ? 0.62 : 1, world);
      this.tubes.setMatrixAt(k, tube);
      ends.forEach((end, m) => this.balls.setMatrixAt(2 * k + m, end));
    });
    for (const mesh of this.hinges) (mesh.userData.joints as number[]).forEach((j, k) => mesh.setMatrixAt(k, all[j]));
    for (const mesh of [this.tubes, this.balls, ...this.hinges]) mesh.instanceMatrix.needsUpdate = true;
    this.orient(all);
    if (this.bones.visible) this.bones.geometry.setFromPoints(this.lines(all));
  }

  /** Where the tube of a capsule and its two ends are. */
  stretched(capsule: Capsule, scale: number, world: (point: Capsule["a"]) => Vector3): Matrix4[] {
    const a = world(capsule.a), b = world(capsule.b), along = b.clone().sub(a), length = along.length(), r = capsule.radius * scale;
    const turn = new Quaternion(), round = new Vector3(r, r, r);
    if (length > 1e-6) turn.setFromUnitVectors(UP, along.clone().normalize());
    const tube = new Matrix4().compose(a.clone().addScaledVector(along, 0.5), turn, length > 1e-6 ? new Vector3(r, length, r) : new Vector3(1e-9, 1e-9, 1e-9));
    return [tube, ...[a, b].map((end) => new Matrix4().compose(end, new Quaternion(), round))];
  }

  /** Axes of all joints, as the lines of one mesh. */
  orient(all: Matrix4[]) {
    const place = this.triads.geometry.getAttribute("position"), ends = this.triads.userData.ends as Vector3[], point = new Vector3();
    all.forEach((m, j) =>
      ends.forEach((end, k) => {
        place.setXYZ(6 * j + 2 * k, m.elements[12], m.elements[13], m.elements[14]);
        point.copy(end).applyMatrix4(m);
        place.setXYZ(6 * j + 2 * k + 1, point.x, point.y, point.z);
      }),
    );
    place.needsUpdate = true;
  }

  /** Lines from joint to joint, and to named frames, in one posture. */
  lines(all: Matrix4[]): Vector3[] {
    const at = (j: number | null | undefined) => (j == null ? new Vector3() : new Vector3().setFromMatrixPosition(all[j]));
    const points = this.robot.joints.flatMap((joint, j) => [at(joint.parent === null ? null : joint.parent - 1), at(j)]);
    for (const frame of this.drawing.frames) if (frame.joint !== null) points.push(at(frame.joint), placed(frame.position, all[frame.joint]));
    return points;
  }

  /** Paths of the tips of all branches through postures. */
  follow(postures: number[][]) {
    this.trail.traverse((object) => object instanceof Line && object.geometry.dispose());
    this.trail.clear();
    if (postures.length < 2) return;
    const { joints } = this.robot, parents = new Set(joints.map((joint) => joint.parent));
    const tips = joints.map((_, j) => j).filter((j) => !parents.has(j + 1)).map((j) => ({ j, end: this.tip(j) }));
    const all = postures.map((q) => poses(this.robot, q)), material = new LineBasicMaterial({ color: colour("--accent") });
    for (const { j, end } of tips) this.trail.add(new Line(new BufferGeometry().setFromPoints(all.map((own) => placed(end, own[j]))), material));
  }

  /** Where a last link ends, in its own frame: at a named frame, else at the end of its capsule, else at its joint. */
  tip(j: number): number[] {
    const frame = [...this.drawing.frames].reverse().find((own) => own.joint === j);
    const capsule = this.drawing.capsules.find((own) => own.joint === j && own.b.joint === j);
    return frame?.position ?? capsule?.b.p ?? [0, 0, 0];
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
    for (const q of postures) {
      const lines = new LineSegments(new BufferGeometry().setFromPoints(this.lines(poses(this.robot, q))), material);
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

  light(lit: Set<number>, paint: (number | null)[]) {
    const full = new Color(colour("--residual"));
    const tint = (joint: number | null, usual: string) => (joint !== null && lit.has(joint) ? new Color(colour("--lit")) : new Color(colour(usual)).lerp(full, joint === null ? 0 : (paint[joint] ?? 0)));
    for (const mesh of [this.tubes, this.balls]) this.tinted(mesh, (joint) => tint(joint, joint === null ? "--link-base" : "--link"));
    for (const mesh of this.hinges) this.tinted(mesh, (joint) => new Color(colour("--joint")).lerp(full, paint[joint ?? 0] ?? 0));
    for (const { joint, material } of this.parts) {
      if (material === this.tubes.material) continue;
      const on = joint !== null && lit.has(joint);
      material.color.set(colour(on ? "--lit" : joint === null ? "--link-base" : "--link"));
      if (!on && joint !== null) material.color.lerp(full, paint[joint] ?? 0);
      material.emissive.set(on ? colour("--lit") : "#000");
      material.emissiveIntensity = on ? 0.35 : 0;
    }
  }

  /** Colour each copy of a shape. */
  tinted(mesh: InstancedMesh, of: (joint: number | null) => Color) {
    (mesh.userData.joints as (number | null)[]).forEach((joint, k) => mesh.setColorAt(k, of(joint)));
    if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
  }

  /** Links as they are, as glass, or as lines from joint to joint. */
  shape(shapes: Shapes) {
    for (const { material } of this.parts) {
      material.visible = shapes !== "off";
      material.transparent = shapes === "transparent";
      material.opacity = shapes === "transparent" ? GLASS : 1;
      material.depthWrite = shapes === "on";
      material.needsUpdate = true;
    }
    this.bones.visible = shapes !== "on";
  }

  show(frames: boolean, masses: boolean, capsules: boolean) {
    this.frames.forEach((f) => (f.visible = frames));
    this.masses.forEach((m) => (m.visible = masses));
    this.capsules.forEach((c) => (c.group.visible = capsules));
  }

  /** Corners of all shapes in some postures, and places around them. */
  corners(postures: Matrix4[][], around: number[][] = []): Vector3[] {
    const found = around.map((p) => new Vector3(p[0], p[1], p[2])).filter((p) => p.length() < 2 * this.size);
    for (const all of postures) {
      this.place(all);
      this.scene.updateMatrixWorld(true);
      for (const solid of this.solids as Mesh[]) {
        if (!solid.geometry.boundingBox) solid.geometry.computeBoundingBox();
        const { min, max } = solid.geometry.boundingBox as Box3;
        const places = solid instanceof InstancedMesh ? Array.from({ length: solid.count }, (_, k) => copied(solid, k)) : [solid.matrixWorld];
        for (const m of places) for (const x of [min.x, max.x]) for (const y of [min.y, max.y]) for (const z of [min.z, max.z]) found.push(new Vector3(x, y, z).applyMatrix4(m));
      }
    }
    return found;
  }

  /** Fill the picture with points, seen from a direction. */
  frame(points: Vector3[], from: Vector3) {
    this.framed = { points, from };
    const right = new Vector3(0, 0, 1).cross(from).normalize(), above = from.clone().cross(right);
    const centre = new Box3().setFromPoints(points).getCenter(new Vector3());
    let distance = 0;
    for (let round = 0; round < 4; round++) {
      distance = this.far(points, centre, from, right, above);
      const seen = points.map((p) => {
        const v = p.clone().sub(centre), depth = distance - v.dot(from);
        return [v.dot(right) / depth, v.dot(above) / depth];
      });
      const middle = [0, 1].map((k) => seen.reduce((m, own) => Math.max(m, own[k]), -Infinity) + seen.reduce((m, own) => Math.min(m, own[k]), Infinity));
      centre.addScaledVector(right, 0.5 * middle[0] * distance).addScaledVector(above, 0.5 * middle[1] * distance);
    }
    this.stand(centre.clone().addScaledVector(from, this.far(points, centre, from, right, above)), centre);
  }

  /** Put the camera somewhere. */
  stand(at: Vector3, target: Vector3) {
    const distance = at.distanceTo(target);
    this.controls.target.copy(target);
    this.camera.position.copy(at);
    this.camera.near = distance / 100;
    this.camera.far = distance * 20;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.draw();
  }

  /** How far from the centre the camera must stand for points to fill its picture, but for a margin. */
  far(points: Vector3[], centre: Vector3, from: Vector3, right: Vector3, above: Vector3): number {
    const tall = Math.tan((this.camera.fov * Math.PI) / 360) * FILLED, wide = tall * (this.canvas.clientWidth / this.canvas.clientHeight || 1);
    const needed = (p: Vector3) => p.dot(from) + Math.max(Math.abs(p.dot(above)) / tall, Math.abs(p.dot(right)) / wide);
    return points.reduce((found, point) => Math.max(found, needed(point.clone().sub(centre))), 0.1 * this.size);
  }

  /** Where the camera stands and looks, in words of an address. */
  whereabouts(): string {
    return [...this.camera.position.toArray(), ...this.controls.target.toArray()].map((x) => String(Number(x.toFixed(3)))).join(" ");
  }

  resize(width: number, height: number) {
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.framed) this.frame(this.framed.points, this.framed.from);
    this.draw();
  }

  draw() {
    if (this.wanted) return;
    this.wanted = requestAnimationFrame((begun) => {
      this.wanted = 0;
      if (this.soft) this.coarse(begun);
      this.renderer.render(this.scene, this.camera);
    });
  }

  /** Drawn in software: whole pixels while things move, half of them once they rest, where that takes less than the rest. */
  coarse(begun: number) {
    if (this.renderer.getPixelRatio() !== 1) this.renderer.setPixelRatio(1);
    requestAnimationFrame(() => requestAnimationFrame((shown) => (this.took = (shown - begun) / 2)));
    window.clearTimeout(this.resting);
    this.resting = window.setTimeout(() => {
      if (4 * this.took > REST) return;
      this.renderer.setPixelRatio(2);
      this.renderer.render(this.scene, this.camera);
    }, REST);
  }

  linkAt(x: number, y: number): number | null {
    const box = this.canvas.getBoundingClientRect();
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height), this.camera);
    for (const solid of this.solids) if (solid instanceof InstancedMesh) solid.computeBoundingSphere(); // of this posture
    const hit = ray.intersectObjects(this.solids, false)[0];
    if (!hit) return null;
    const { joint, joints } = hit.object.userData as { joint?: number | null; joints?: (number | null)[] };
    return (joints ? joints[hit.instanceId ?? 0] : joint) ?? null;
  }

  dispose() {
    cancelAnimationFrame(this.wanted);
    window.clearTimeout(this.resting);
    this.controls.dispose();
    this.scene.traverse((object) => {
      if (object instanceof Mesh || object instanceof Line) object.geometry.dispose();
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
  const home = useRef<Vector3[]>([]), stood = useRef<string | null>(null), told = useRef(props.onCamera), now = useRef(q);
  told.current = props.onCamera;
  now.current = q;
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
    home.current = made.corners((fitTo.current?.length ? fitTo.current : [drawing.start]).map((own) => poses(robot, own)), [...(boxes.current?.flat(2) ?? []), ...(arrows.current ?? []).flatMap(({ from, way }) => [0, 1].map((end) => from.map((x, k) => (x ?? 0) + end * (way[k] ?? 0))))]);
    stood.current = null;
    made.controls.addEventListener("end", () => {
      stood.current = made.whereabouts();
      told.current?.(stood.current);
    });
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
    const made = view.current, camera = props.camera ?? "3-D";
    if (!made || camera === stood.current) return;
    stood.current = camera;
    const numbers = camera.split(" ").map(Number);
    if (PRESETS[camera] || numbers.length !== 6 || !numbers.every(Number.isFinite)) made.frame(home.current, PRESETS[camera] ?? PRESETS["3-D"]);
    else {
      made.framed = null;
      made.stand(new Vector3(...(numbers.slice(0, 3) as [number, number, number])), new Vector3(...(numbers.slice(3) as [number, number, number])));
    }
  }, [props.camera, robot, drawing, dark]);

  useEffect(() => {
    const made = view.current;
    if (!made || !props.closer) return;
    const from = made.camera.position.clone().sub(made.controls.target).normalize();
    made.frame(made.corners(drawing.has_loops ? [made.joints.map((joint) => joint.matrix.clone())] : [poses(robot, now.current)]), from);
    stood.current = made.whereabouts();
    told.current?.(stood.current);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [props.closer]);

  useEffect(() => {
    view.current?.light(lit ?? new Set(), props.paint ?? []);
    view.current?.draw();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [litKey, props.paint, robot, drawing, dark]);

  useEffect(() => {
    view.current?.shape(props.shapes ?? "on");
    if (!drawing.has_loops) view.current?.place(poses(robot, now.current));
    view.current?.draw();
  }, [props.shapes, robot, drawing, dark]);

  useEffect(() => {
    view.current?.follow(drawing.has_loops ? [] : (props.trail ?? []));
    view.current?.draw();
  }, [props.trail, robot, drawing, dark]);

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
