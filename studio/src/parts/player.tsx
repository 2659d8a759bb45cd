import { type ReactNode, useEffect, useRef, useState } from "react";

/** Which picture of a motion is shown, in the motion's own time while it plays. */
export function usePlayer(t: number[]) {
  const [frame, setFrame] = useState(0);
  const [playing, setPlaying] = useState(false);
  const clock = useRef(0);
  useEffect(() => {
    if (!playing) return;
    const last = t[t.length - 1];
    const begun = performance.now() - 1000 * (t[frame] >= last ? 0 : t[frame]);
    const step = (now: number) => {
      const k = Math.min(t.length - 1, Math.floor(((now - begun) / 1000 / last) * (t.length - 1)));
      setFrame(k);
      if (k >= t.length - 1) setPlaying(false);
      else clock.current = requestAnimationFrame(step);
    };
    clock.current = requestAnimationFrame(step);
    return () => cancelAnimationFrame(clock.current);
    // the frame is where it begins, not what it follows
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [playing, t]);
  return { frame: Math.min(frame, t.length - 1), setFrame, playing, setPlaying };
}

export function PlayerBar({ t, player, children }: { t: number[]; player: ReturnType<typeof usePlayer>; children?: ReactNode }) {
  const { frame, setFrame, playing, setPlaying } = player;
  return (
    <div className="player">
      <button type="button" onClick={() => setPlaying(!playing)}>
        {playing ? "Pause" : "Play"}
      </button>
      <input
        type="range"
        aria-label="Time"
        min={0}
        max={t.length - 1}
        value={frame}
        onChange={(e) => {
          setPlaying(false);
          setFrame(Number(e.target.value));
        }}
      />
      <output>{t[frame].toFixed(2)} s</output>
      {children}
    </div>
  );
}
