import { createElement, type ReactNode, useMemo } from "react";
import { useTerms } from "./window";

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

const TOKEN = /(?<number>\d+\.?\d*(?:e[+-]?\d+)?)|(?<fun>cos|sin|tan)(?=\()|(?<name>[A-Za-z]\w*)|\*\*(?<power>\d+)|(?<other>\S)/g;
const SIGNS: Record<string, string> = { "*": "\u2062", "-": "\u2212" }; // a product is written without a sign

type Token = Record<string, string | undefined>;
const isSign = (token: Token) => token.other === "+" || token.other === "-";
const element = (tag: string, key: number, ...inside: ReactNode[]) => createElement(tag, { key }, ...inside);

/**
 * A sum of parameters such as XX3 - D4**2*M4, set by the browser itself as mathematics (MathML), which needs neither
 * script nor fonts; it wraps where terms end, and nothing of it is cut.
 */
export function Relation({ text }: { text: string }) {
  const sum = useMemo(() => terms([...text.matchAll(TOKEN)].map((match) => match.groups as Token)), [text]);
  const [drawn, more] = useTerms(sum);
  return (
    <span className="terms">
      {drawn.map((term, k) => createElement("math", { key: k }, ...written(term)))}
      {more}
    </span>
  );
}

/** Tokens cut before the signs of the sum, outside of brackets. */
function terms(all: Token[]): Token[][] {
  const found: Token[][] = [[]];
  let depth = 0;
  for (const token of all) {
    const last = found[found.length - 1];
    if (token.other === "(") depth++;
    if (token.other === ")") depth--;
    if (depth === 0 && isSign(token) && last.length) found.push([token]);
    else last.push(token);
  }
  return found;
}

/** Elements of MathML for tokens; a power belongs to what stands before it. */
function written(all: Token[]): ReactNode[] {
  const found: ReactNode[] = [];
  all.forEach((token, k) => {
    const next = all[k + 1]?.power;
    if (token.power) found.push(...(all[k - 1]?.name ? [] : [element("msup", k, found.pop() ?? element("mrow", -k - 1), element("mn", 0, token.power))]));
    else if (token.name) found.push(letter(token.name, k, next));
    else if (token.number) found.push(element("mn", k, figures(token.number)));
    else if (token.fun) found.push(element("mi", k, token.fun));
    else found.push(createElement("mo", { key: k, stretchy: "false", ...(k === 0 && isSign(token) && { lspace: "0", rspace: "0.22em" }) }, SIGNS[token.other ?? ""] ?? token.other));
  });
  return found;
}

/** A letter with its number below and its power above, as far as it has them. */
function letter(name: string, key: number, power: string | undefined): ReactNode {
  const found = /^([A-Za-z]+?)(R?\d+)$/.exec(name);
  const slanted = createElement("mi", { key: 0, className: "slanted" }, found ? found[1] : name);
  const low = found && element("mn", 1, found[2]), high = power && element("mn", 2, power);
  if (low && high) return element("msubsup", key, slanted, low, high);
  return low || high ? element(low ? "msub" : "msup", key, slanted, low || high) : slanted;
}

const figures = (text: string) => (text.length > 8 ? String(Number(Number(text).toPrecision(6))) : text);
