import uPlot from "uplot";

const DENSE = 300; // points from which a line is drawn of hairlines

type Builder = uPlot.Series.PathBuilder;
const straight = uPlot.paths.linear!() as Builder;

/**
 * Lines of many points, of one pixel of the screen each, as many side by side as the line is wide: where no graphics
 * processor draws, browsers stroke wider lines forty times as slowly, which stops everything else meanwhile.
 */
export function lines(width: number): Builder {
  return (own, k, first, last) => {
    const made = straight(own, k, first, last);
    if (!made?.stroke || last - first < DENSE) return made;
    const line = made.stroke as Path2D, bundle = new Path2D(line);
    const reach = Math.round(width * uPlot.pxRatio) - 1;
    for (let n = 1; n <= reach; n++) {
      const off = Math.ceil(n / 2) * (n % 2 ? 1 : -1); // 1, -1, 2, -2 ...
      bundle.addPath(line, new DOMMatrix([1, 0, 0, 1, 0, off]));
      bundle.addPath(line, new DOMMatrix([1, 0, 0, 1, off, 0]));
    }
    return { ...made, stroke: bundle, _width: 1 / uPlot.pxRatio } as uPlot.Series.Paths;
  };
}
