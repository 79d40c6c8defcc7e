// Asks one provider what it can do: how many calls it takes in a batch, which questions it answers, and which software it runs.
import { Effect } from "effect"
import type { ProviderFacts } from "../../domain/chain/Rpc.ts"
import { present } from "../../domain/transaction/Presentation.ts"
import type { RpcAnswer, RpcCall } from "./RpcBatch.ts"
import type { RpcNode } from "./RpcNode.ts"

/** Calls that are asked at the same time, besides the questions: enough to find out that a provider takes no or only small batches. */
const tried = 10

/** The questions of a network type. Absent: it has no such thing. */
export interface Questions {
  /** A call that costs a provider nothing. */
  readonly cheap: RpcCall
  readonly version: RpcCall
  readonly versionIn: (result: unknown) => string | undefined
  readonly finalized?: RpcCall
  readonly feeHistory: RpcCall
  readonly archive?: RpcCall
  /** Absent: a provider that answers the question is an archive. */
  readonly isArchive?: (result: unknown) => boolean
}

const name = /^[\w.+-]{1,32}(?:\/[\w.+-]{1,32})?/u

/** A part of a URL that is shorter is no secret. */
const shortest = 6

/** The name and the version of a client. A text that repeats a part of the URL, which may be a key, is not shown. */
const shownVersion = (text: string | undefined, url: string): string | undefined => {
  const [found] = name.exec(text ?? "") ?? []
  const secrets = url.split(/[/?&=#@:]+/u).filter((part) => part.length >= shortest)
  return found === undefined || secrets.some((secret) => found.includes(secret)) ? undefined : found
}

const isThere = (result: unknown) => result !== null && result !== undefined

/** Never fails: what was not answered within `patienceMs` is absent. */
export const ask = Effect.fnUntraced(function* (node: RpcNode, questions: Questions, patienceMs: number) {
  const asked = (call: RpcCall | undefined): Effect.Effect<RpcAnswer | undefined> =>
    call === undefined
      ? Effect.undefined
      : node.ask({ method: call.method, ...present("params", call.params) }).pipe(
          Effect.orElseSucceed(() => undefined),
          Effect.timeoutOrElse({ duration: patienceMs, orElse: () => Effect.undefined })
        )
  const { archive, feeHistory, finalized, version } = yield* Effect.all(
    {
      version: asked(questions.version),
      finalized: asked(questions.finalized),
      feeHistory: asked(questions.feeHistory),
      archive: asked(questions.archive),
      cheap: Effect.all(
        Array.from({ length: tried }, () => asked(questions.cheap)),
        { concurrency: "unbounded" }
      )
    },
    { concurrency: "unbounded" }
  )
  const can = (answer: RpcAnswer | undefined, isEnough: (result: unknown) => boolean = isThere) =>
    answer === undefined ? undefined : answer._tag === "Result" && isEnough(answer.value)
  const said = version?._tag === "Result" ? questions.versionIn(version.value) : undefined
  const facts: ProviderFacts = {
    batch_size: yield* node.batchSize,
    ...present("client_version", shownVersion(said, node.url)),
    ...present("finalized", can(finalized)),
    ...present("fee_history", can(feeHistory)),
    ...present("archive", can(archive, questions.isArchive))
  }
  return facts
})
