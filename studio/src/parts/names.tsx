import { Fragment, useMemo } from "react";

/** A parameter's name with its link as a subscript: XX3, ZZR2, FC1, U33_2. */
export function ParameterName({ name }: { name: string }) {
  const found = /^([A-Za-z]+(?:_[A-Za-z]+)?)(\d+)$/.exec(name);
  return found ? (
    <span className="parameter">
      {found[1]}
      <sub>{found[2]}</sub>
    </span>
  ) : (
    <span className="parameter">{name}</span>
  );
}

const TOKEN = /(?<number>\d+\.?\d*(?:e[+-]?\d+)?)|(?<fun>cos|sin|tan)(?=\()|(?<name>[A-Za-z]\w*)|\*\*(?<power>\d+)|(?<other>[^])/g;
const SIGNS: Record<string, string> = { "*": "\u2009", "-": "\u2212" };

/** A sum of parameters as text, such as XX3 - D4**2*M4, with low and high numbers; it wraps where terms end. */
export function Relation({ text }: { text: string }) {
  const parts = useMemo(() => [...text.matchAll(TOKEN)].map((match) => match.groups as Record<string, string | undefined>), [text]);
  return (
    <span className="relation-text">
      {parts.map((part, k) => (
        <Fragment key={k}>
          {part.name ? <Letter name={part.name} /> : part.power ? <sup>{part.power}</sup> : part.number ? figures(part.number) : (part.fun ?? SIGNS[part.other ?? ""] ?? part.other)}
        </Fragment>
      ))}
    </span>
  );
}

function Letter({ name }: { name: string }) {
  const found = /^([A-Za-z]+?)(R?\d+)$/.exec(name);
  return found ? (
    <>
      <i>{found[1]}</i>
      <sub>{found[2]}</sub>
    </>
  ) : (
    <i>{name}</i>
  );
}

const figures = (text: string) => (text.length > 8 ? String(Number(Number(text).toPrecision(6))) : text);
