import type { ProjectFile } from "../types";
import { bytes, Scroll } from "./bits";

/** Which files are fitted, and which are predicted. */
export function Uses({ logs, train, unseen, onChange }: {
  logs: ProjectFile[];
  train: string[];
  unseen: string[];
  onChange: (train: string[], unseen: string[]) => void;
}) {
  const use = (key: string) => (train.includes(key) ? "fit" : unseen.includes(key) ? "predict" : "leave out");
  const set = (key: string, value: string) => {
    const without = (list: string[]) => list.filter((k) => k !== key);
    onChange(value === "fit" ? [...without(train), key] : without(train), value === "predict" ? [...without(unseen), key] : without(unseen));
  };
  return (
    <Scroll label="Logs of the folder">
      <table>
        <thead>
          <tr>
            <th scope="col">log</th>
            <th scope="col" className="number aside">
              size
            </th>
            <th scope="col">use</th>
          </tr>
        </thead>
        <tbody>
          {logs.map((log) => (
            <tr key={log.key}>
              <th scope="row">{log.title}</th>
              <td className="number aside">{bytes(log.size)}</td>
              <td>
                <span className="segment" role="group" aria-label={`Use of ${log.title}`}>
                  {["fit", "predict", "leave out"].map((value) => (
                    <button key={value} type="button" aria-pressed={use(log.key) === value} onClick={() => set(log.key, value)}>
                      {value}
                    </button>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="soft">Logs to predict are never fitted; the verdict rests on them.</p>
    </Scroll>
  );
}
