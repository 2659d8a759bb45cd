import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { putCampaign } from "./api";
import { useStudio } from "./studio";
import type { Campaign, CampaignDocument } from "./types";

interface CampaignState {
  campaign: Campaign | null;
  change: (changes: Partial<Campaign>) => void;
  take: (document: CampaignDocument) => void;
  saving: boolean;
}

const CampaignContext = createContext<CampaignState | null>(null);

export function useCampaign(): CampaignState {
  const found = useContext(CampaignContext);
  if (!found) throw new Error("outside of the studio");
  return found;
}

export function asked(document: CampaignDocument): Campaign {
  const model = document.model ?? {};
  const effects = model.effects?.filter((e): e is string => typeof e === "string") ?? null;
  return {
    train: document.logs?.train ?? [],
    validate: document.logs?.validate ?? [],
    gravity: document.gravity ?? null,
    columns: document.columns ?? {},
    drive: document.drive ?? {},
    filter: document.filter ?? {},
    model: { effects, parameters: model.parameters ?? null, prior: model.prior === "robot" ? "robot" : null, fix: model.fix ?? null },
    estimator: document.estimator ?? { name: "auto" },
    evaluation: document.evaluation ?? {},
  };
}

/** The campaign as it is edited: every change is written to campaign.toml after a moment, which voids its check. */
export function CampaignProvider({ children }: { children: ReactNode }) {
  const { project, refresh, say } = useStudio();
  const [campaign, setCampaign] = useState<Campaign | null>(() => (project.campaign ? asked(project.campaign) : null));
  const [saving, setSaving] = useState(false);
  const timer = useRef(0);
  const wanted = useRef<Campaign | null>(null);

  useEffect(() => {
    if (!wanted.current && project.campaign) setCampaign(asked(project.campaign));
  }, [project.campaign]);

  const save = useCallback(
    (next: Campaign) => {
      wanted.current = next;
      setCampaign(next);
      setSaving(true);
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(async () => {
        try {
          await putCampaign(next);
          say(null);
        } catch (error) {
          say((error as Error).message);
        }
        if (wanted.current === next) {
          wanted.current = null;
          setSaving(false);
        }
        await refresh();
      }, 250);
    },
    [refresh, say],
  );

  const change = useCallback(
    (changes: Partial<Campaign>) => {
      const before = wanted.current ?? campaign;
      if (before) save({ ...before, ...changes });
    },
    [campaign, save],
  );
  const take = useCallback((document: CampaignDocument) => save(asked(document)), [save]);
  return <CampaignContext.Provider value={{ campaign, change, take, saving }}>{children}</CampaignContext.Provider>;
}
