// The client for tests, with an allow list and a resolver.
import { Context, Effect, Layer, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import { AllowListFromText, Outbound, refusal } from "../../src/outbound/Outbound.ts"
import type { Options } from "../../src/outbound/Outbound.ts"

interface Given extends Omit<Options, "allow"> {
  readonly allow?: string
}

/** `allow` defaults to loopback. */
export const outbound = ({ allow = "127.0.0.0/8", ...options }: Given = {}) =>
  Effect.map(
    Layer.build(Outbound.layer({ ...options, allow: Schema.decodeSync(AllowListFromText)(allow) })),
    (context) => Context.get(context, Outbound)
  )

/** Returns each answer in turn, then always the last. `asked` lists the names. */
export const resolver = (...answers: ReadonlyArray<ReadonlyArray<string>>) => {
  const asked: Array<string> = []
  const resolve = (name: string) => {
    asked.push(name)
    return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] ?? [])
  }
  return { asked, resolve }
}

export const why = (error: HttpClientError.HttpClientError) => refusal(error)?.message
