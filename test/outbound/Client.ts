// The client as tests ask for it: what it allows, and what names resolve to.
import { Context, Effect, Layer, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import * as AllowList from "../../src/outbound/AllowList.ts"
import { Outbound, type Options } from "../../src/outbound/Outbound.ts"
import { refusal } from "../../src/outbound/OutboundRefused.ts"

interface Given extends Omit<Options, "allow"> {
  readonly allow?: string
}

/** 127.0.0.1 is allowed where nothing else is said. */
export const outbound = ({ allow = "127.0.0.0/8", ...options }: Given = {}) =>
  Effect.map(
    Layer.build(Outbound.layer({ ...options, allow: Schema.decodeSync(AllowList.FromText)(allow) })),
    (context) => Context.get(context, Outbound)
  )

/** Each answer in turn, and the last one for ever; with the number of times it was asked. */
export const resolver = (...answers: ReadonlyArray<ReadonlyArray<string>>) => {
  const asked: Array<string> = []
  const resolve = (name: string) => {
    asked.push(name)
    return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] ?? [])
  }
  return { asked, resolve }
}

export const why = (error: HttpClientError.HttpClientError) => refusal(error)?.message
