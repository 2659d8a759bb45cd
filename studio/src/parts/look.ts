import { createContext, useCallback, useContext, useState, useSyncExternalStore } from "react";

/** What is being looked at: a log, a time, a camera. In the studio it is the query of the address. */
export interface Looks {
  get: (key: string) => string | null;
  set: (key: string, value: string | null) => void;
  subscribe: (changed: () => void) => () => void;
}

const REST = 250; // ms without a change before the address is written: browsers refuse hundreds of addresses a minute

/** The query of the address, written when changes rest; going elsewhere begins with another one. */
export class AddressLooks implements Looks {
  private values = new URLSearchParams(window.location.search);
  private readers = new Set<() => void>();
  private timer = 0;

  constructor() {
    window.addEventListener("popstate", () => this.read());
  }

  get = (key: string) => this.values.get(key);

  set = (key: string, value: string | null) => {
    if (this.values.get(key) === value) return;
    if (value === null) this.values.delete(key);
    else this.values.set(key, value);
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.write(), REST);
    this.readers.forEach((changed) => changed());
  };

  subscribe = (changed: () => void) => {
    this.readers.add(changed);
    return () => this.readers.delete(changed);
  };

  /** The address as it stands now, after going elsewhere. */
  read = () => {
    window.clearTimeout(this.timer);
    this.values = new URLSearchParams(window.location.search);
    this.readers.forEach((changed) => changed());
  };

  private write() {
    const query = this.values.toString();
    window.history.replaceState(null, "", window.location.pathname + (query && `?${query}`));
  }
}

export const LooksContext = createContext<Looks | null>(null);
const unsubscribed = () => () => undefined;

/** One thing that is looked at; in the address where there is one, else of this component alone. */
export function useLook(key: string, usual: string): [string, (value: string) => void] {
  const looks = useContext(LooksContext);
  const [own, setOwn] = useState(usual);
  const shared = useSyncExternalStore(looks?.subscribe ?? unsubscribed, () => looks?.get(key) ?? usual);
  const set = useCallback((value: string) => (looks ? looks.set(key, value === usual ? null : value) : setOwn(value)), [looks, key, usual]);
  return [looks ? shared : own, set];
}
