import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { Outdated, putCampaign, takeCampaign, Unreachable } from "./api";
import { OPTIONS } from "./options";
import { useStudio } from "./studio";
import type { Campaign, CampaignDocument, Changes, Table } from "./types";

interface CampaignState {
  campaign: Campaign | null;
  change: (changes: Changes) => void;
  take: (job: string) => Promise<void>;
  saving: boolean;
  conflict: string | null; // somebody else changed the campaign while a change of this page was on its way
}

const CampaignContext = createContext<CampaignState | null>(null);

export function useCampaign(): CampaignState {
  const found = useContext(CampaignContext);
  if (!found) throw new Error("outside of the studio");
  return found;
}

/** What the page shows of the file: every table of it. */
export function shownOf(document: CampaignDocument): Campaign {
  const tables = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, document[name as keyof CampaignDocument] ?? {}]));
  return { ...tables, train: document.logs?.train ?? [], validate: document.logs?.validate ?? [], gravity: document.gravity ?? null } as unknown as Campaign;
}

const isTable = (value: unknown): value is Table => typeof value === "object" && value !== null && !Array.isArray(value);

/** Changes over others, or over what is shown: of tables their values. */
function over<T extends object>(before: T, changes: Changes, isShown: boolean): T {
  const found = { ...before } as Table;
  for (const [key, value] of Object.entries(changes)) {
    if (!isTable(value)) found[key] = value;
    else {
      const table: Table = { ...((found[key] as Table | undefined) ?? {}), ...value };
      if (isShown) for (const name of Object.keys(table)) if (table[name] === null) delete table[name];
      found[key] = table;
    }
  }
  return found as T;
}

/** The campaign as it is edited: every change is written to campaign.toml after a moment, which voids its check. */
export function CampaignProvider({ children }: { children: ReactNode }) {
  const { project, refresh, say, write, revision: known, trouble } = useStudio();
  const [campaign, setCampaign] = useState<Campaign | null>(() => (project.campaign ? shownOf(project.campaign) : null));
  const [saving, setSaving] = useState(false);
  const [conflict, setConflict] = useState<Outdated | null>(null);
  const timer = useRef(0);
  const wanted = useRef<Changes | null>(null); // not written yet
  const based = useRef(""); // the revision that the first of them was made on

  useEffect(() => {
    if (!wanted.current) setCampaign(project.campaign ? shownOf(project.campaign) : null);
  }, [project.campaign]);

  const last = useRef<Promise<void>>(Promise.resolve());

  const saved = useCallback(
    async (revision: string) => {
      const changes = wanted.current;
      if (!changes) return;
      try {
        based.current = await write((on) => putCampaign(changes, on), revision);
        say(null);
        setConflict(null);
      } catch (error) {
        if (error instanceof Outdated) return setConflict(error);
        if (error instanceof Unreachable) return refresh(); // it is written when the server is back
        say((error as Error).message);
      }
      if (wanted.current === changes) {
        wanted.current = null;
        setSaving(false);
      }
      await refresh();
    },
    [refresh, say, write],
  );
  // one after the other: the second is made on what the first has written
  const save = useCallback(
    (revision?: string) => {
      last.current = last.current.then(() => saved(revision ?? based.current));
      return last.current;
    },
    [saved],
  );

  useEffect(() => {
    if (!trouble && wanted.current && !conflict) void save();
  }, [trouble, save, conflict]);

  const change = useCallback(
    (changes: Changes) => {
      if (!wanted.current) based.current = known();
      wanted.current = over<Changes>(wanted.current ?? {}, changes, false);
      setCampaign((before) => (before ? over(before, changes, true) : before));
      setSaving(true);
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(() => void save(), 250);
    },
    [known, save],
  );

  const take = useCallback(
    async (job: string) => {
      try {
        await write((revision) => takeCampaign(job, revision));
        say(null);
      } catch (error) {
        say((error as Error).message);
      }
      await refresh();
    },
    [refresh, say, write],
  );

  const theirs = () => {
    wanted.current = null;
    setSaving(false);
    setConflict(null);
    setCampaign(project.campaign ? shownOf(project.campaign) : null);
    void refresh();
  };
  return (
    <CampaignContext.Provider value={{ campaign, change, take, saving, conflict: conflict?.message ?? null }}>
      {conflict && (
        <div className="message warn conflict" role="alert">
          <b>Not written</b>
          <span>{conflict.message}</span>
          <button type="button" onClick={theirs}>
            Reload
          </button>
          <button type="button" onClick={() => void save(conflict.revision)}>
            Keep mine
          </button>
        </div>
      )}
      {children}
    </CampaignContext.Provider>
  );
}
