import { createContext, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLook } from "./look";

/** The cursor that the plots below a player share with it; they follow it without being rendered again. */
export class Clock {
  private readers = new Set<(time: number) => void>();
  time = 0;
  seek: (time: number) => void = () => undefined;

  tell(time: number) {
    this.time = time;
    this.readers.forEach((read) => read(time));
  }

  follow(read: (time: number) => void): () => void {
    this.readers.add(read);
    read(this.time);
    return () => this.readers.delete(read);
  }
}

export const ClockContext = createContext<Clock | null>(null);

/** The time of a motion that is shown, by the player, by the pointer on a plot, or by the address. */
export interface Player {
  frame: number;
  time: number;
  seek: (time: number) => void;
  playing: boolean;
  setPlaying: (on: boolean) => void;
  clock: Clock;
}

/** Index of the last time that is not after another. */
export function frameAt(t: number[], time: number): number {
  let low = 0, high = t.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Which picture of a motion is shown, in the motion's own time while it plays; t: times of its pictures [s]. */
export function usePlayer(t: number[]): Player {
  const [at, setAt] = useLook("t", "");
  const [playing, setPlaying] = useState(false);
  const first = t[0] ?? 0, last = t[t.length - 1] ?? 0;
  const asked = at === "" ? first : Number(at);
  const time = Number.isFinite(asked) ? Math.min(last, Math.max(first, asked)) : first;
  const begin = useRef(time);
  begin.current = time;
  const put = useCallback((to: number) => setAt(to.toFixed(3)), [setAt]);
  useEffect(() => {
    if (!playing) return;
    const begun = performance.now() - 1000 * (begin.current >= last ? 0 : begin.current - first);
    let clock = 0;
    const step = (now: number) => {
      const to = Math.min(last, first + (now - begun) / 1000);
      put(to);
      if (to >= last) setPlaying(false);
      else clock = requestAnimationFrame(step);
    };
    clock = requestAnimationFrame(step);
    return () => cancelAnimationFrame(clock);
  }, [playing, first, last, put]);
  const seek = useCallback(
    (to: number) => {
      setPlaying(false);
      put(to);
    },
    [put],
  );
  const clock = useMemo(() => new Clock(), []);
  clock.seek = seek;
  useEffect(() => clock.tell(time), [clock, time]);
  return { clock, frame: frameAt(t, time + 1e-4), time, seek, playing, setPlaying };
}

export function PlayerBar({ t, player, children }: { t: number[]; player: Player; children?: ReactNode }) {
  const { frame, time, seek, playing, setPlaying } = player;
  return (
    <div className="player">
      <button type="button" onClick={() => setPlaying(!playing)}>
        {playing ? "Pause" : "Play"}
      </button>
      <input type="range" aria-label="Time" aria-valuetext={`${time.toFixed(2)} s`} min={0} max={t.length - 1} value={frame} onChange={(e) => seek(t[Number(e.target.value)])} />
      <output>{time.toFixed(2)} s</output>
      {children}
    </div>
  );
}
