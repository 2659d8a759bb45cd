import katex from "katex";
import "katex/dist/katex.min.css";
import { memo, useEffect, useRef } from "react";

export { ParameterName } from "./names";

/** LaTeX of the server; drawn into the page's own elements, so that no markup is parsed from text. */
export const Tex = memo(function Tex({ tex, label }: { tex: string; label: string }) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (place.current) katex.render(tex, place.current, { throwOnError: false, output: "html", trust: false });
  }, [tex]);
  return (
    <span className="tex">
      <span ref={place} aria-hidden="true" />
      <span className="hidden">{label}</span>
    </span>
  );
});
