/** Runs generated code: this file is served with a policy of its own, so that the page itself may compile nothing. */
interface Code { memory: WebAssembly.Memory; minertia_given: () => number; minertia_made: () => number; minertia_run: () => void }
type Asked = { kind: "load"; code: ArrayBuffer; n: number } | { kind: "run"; number: number; states: number[][] };

let given: Float64Array | null = null, made: Float64Array | null = null, run: (() => void) | null = null;

async function load(code: ArrayBuffer, n: number) {
  const module = await WebAssembly.compile(code);
  const functions = Math as unknown as Record<string, WebAssembly.ImportValue>;
  const env: Record<string, WebAssembly.ImportValue> = {};
  for (const { name } of WebAssembly.Module.imports(module)) {
    if (typeof functions[name] !== "function") throw new Error(`the code asks for '${name}', which the page does not have`);
    env[name] = functions[name];
  }
  const code_ = (await WebAssembly.instantiate(module, { env })).exports as unknown as Code;
  given = new Float64Array(code_.memory.buffer, code_.minertia_given(), 3 * n);
  made = new Float64Array(code_.memory.buffer, code_.minertia_made(), n);
  run = code_.minertia_run;
}

self.onmessage = async (event: MessageEvent<Asked>) => {
  const asked = event.data;
  try {
    if (asked.kind === "load") {
      await load(asked.code, asked.n);
      self.postMessage({ kind: "ready" });
    } else if (given && made && run) {
      const tau = asked.states.map((state) => {
        given!.set(state);
        run!();
        return [...made!];
      });
      self.postMessage({ kind: "made", number: asked.number, tau });
    }
  } catch (error) {
    self.postMessage({ kind: "failed", why: (error as Error).message });
  }
};
