// The settings in which everything must hold.
import { base } from "./Setting.ts"
import type { Setting } from "./Setting.ts"

const setting = (name: string, changed: Partial<Setting>): Setting => ({ ...base, name, ...changed })

export const settings: ReadonlyArray<Setting> = [
  setting("two providers", {}),
  setting("one provider", { providers: 1 }),
  setting("two providers, one lies", { liar: true }),
  setting("three providers, one lies", { providers: 3, liar: true }),
  setting("restores", { restores: true }),
  setting("restores, one lies", { restores: true, liar: true, length: 400 }),
  setting("restores, one provider", { restores: true, providers: 1 }),
  setting("restores, three providers", { restores: true, providers: 3, length: 400 }),
  setting("equal requests", { equal: true, rows: 3 }),
  setting("equal requests, one lies, many errors", { equal: true, rows: 3, liar: true, errors: 0.35 }),
  setting("long", { length: 600, rows: 4 }),
  setting("signatures given", { given: 3 }),
  setting("signatures given, one provider", { given: 3, providers: 1 }),
  setting("signatures given, restores", { given: 3, restores: true }),
  setting("signatures given, one lies", { given: 3, liar: true }),
  setting("indexes lag", { indexLag: 0.9, errors: 0.02 }),
  setting("indexes lag, one provider", { indexLag: 0.9, errors: 0.02, providers: 1 }),
  setting("indexes lag, restores", { indexLag: 0.5, restores: true, length: 400 }),
  setting("the second provider is silent", { silent: true, length: 400 })
]
