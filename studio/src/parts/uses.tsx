import type { ReactNode } from "react";
import { labelFile, removeFile } from "../api";
import { useEditing } from "../studio";
import type { ProjectFile } from "../types";
import { bytes, LabelForm, Scroll, Tags } from "./bits";

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
            <LogRow key={log.key} log={log}>
              <td>
                <span className="segment" role="group" aria-label={`Use of ${log.title}`}>
                  {["fit", "predict", "leave out"].map((value) => (
                    <button key={value} type="button" aria-pressed={use(log.key) === value} onClick={() => set(log.key, value)}>
                      {value}
                    </button>
                  ))}
                </span>
              </td>
            </LogRow>
          ))}
        </tbody>
      </table>
      <p className="soft">Logs to predict are never fitted; the verdict rests on them.</p>
    </Scroll>
  );
}

/** A log with its name, its tags and its size; it can be renamed, tagged and removed. */
function LogRow({ log, children }: { log: ProjectFile; children: ReactNode }) {
  const { editing, setEditing, done } = useEditing();
  return (
    <>
      <tr>
        <th scope="row">
          {log.title} <Tags tags={log.tags} />{" "}
          <button type="button" className="plain" aria-expanded={editing} aria-label={`Edit ${log.title}: name, tags, remove`} onClick={() => setEditing(!editing)}>
            Edit
          </button>
        </th>
        <td className="number aside">{bytes(log.size)}</td>
        {children}
      </tr>
      {editing && (
        <tr>
          <td colSpan={3}>
            <LabelForm what={log.title} title={log.title} own="" tags={log.tags ?? []} onSave={(title, tags) => void done(labelFile(log.key, title, tags))} onDelete={() => void done(removeFile(log.key))} danger={["Remove", "Remove from the project"]} />
          </td>
        </tr>
      )}
    </>
  );
}
