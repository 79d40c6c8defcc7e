// The master keys of all workers: a rotation in one of them is one in all.
import { Effect, Option, Redacted } from "effect"
import type { Store } from "../server/masterKey/MasterKeyStore.ts"
import type { Handlers } from "./Channel.ts"
import type { Process } from "./Processes.ts"
import type { OfPrimary } from "./Protocol.ts"
import * as Settings from "./Settings.ts"

/** A worker that has not taken a key by then is ended: what another seals would be unreadable to it. */
const patience = "5 seconds"

/** `all` are the processes that have been given keys. */
export const make = (all: ReadonlySet<Process>, keys: ReadonlyArray<string>, store: Option.Option<Store>) => {
  let current = keys

  const tell = (asking: Process, name: "learnMasterKeys" | "useMasterKeys", texts: ReadonlyArray<string>) =>
    Effect.forEach(
      [...all].filter((process) => process !== asking),
      ({ channel, kill }) =>
        channel.ask(name, texts).pipe(
          Effect.timeout(patience),
          Effect.catch(() => kill)
        ),
      { concurrency: "unbounded" }
    )

  const handlers = (process: Process): Pick<Handlers<OfPrimary>, "keepMasterKeys" | "useMasterKeys"> => ({
    keepMasterKeys: Effect.fnUntraced(function* (texts) {
      const [first, ...others] = texts.map((text) => Settings.masterKeyBytes(Redacted.make(text)))
      if (first === undefined || Option.isNone(store)) return null
      yield* store.value.keep([first, ...others])
      current = texts
      yield* tell(process, "learnMasterKeys", texts)
      return null
    }),
    useMasterKeys: (texts) => Effect.as(tell(process, "useMasterKeys", texts), null)
  })

  return { current: () => current, handlers }
}
