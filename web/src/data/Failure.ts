// What a page shows of a request that failed.
import { Schema } from "effect"

export interface Failure {
  readonly _tag: "Failure"
  /** HTTP status. 0 if there was no response. */
  readonly status: number
  /** What is wrong, in words of the service if it sent some. */
  readonly text: string
  readonly requestId?: string
  /** Seconds after which the service accepts the next request. */
  readonly retryAfter?: number
}

const Body = Schema.fromJsonString(
  Schema.Struct({ message: Schema.optionalKey(Schema.String), error: Schema.optionalKey(Schema.String) })
)

const decoded = Schema.decodeUnknownOption(Body)

/** The words of a failed response: `error` says more than `message`. A proxy in front may answer with something else. */
export const wordsOf = (body: string, status: number): string => {
  const { message, error } = decoded(body).pipe((option) => (option._tag === "Some" ? option.value : {}))
  return error ?? message ?? `HTTP ${status}`
}

export const isFailure = (error: unknown): error is Failure =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "Failure"

export interface FieldProblem {
  readonly field: string
  readonly problem: string
}

/** The problems of a refused form. The service separates them by semicolons: `name: is required; policies.min_balance: …`. */
export const problemsOf = (text: string): ReadonlyArray<FieldProblem> =>
  text.split(/; (?=[\w.[\]-]+: )/).flatMap((part) => {
    const match = /^([\w.[\]-]+): ([^]+)$/.exec(part)
    return match?.[1] === undefined || match[2] === undefined ? [] : [{ field: match[1], problem: match[2] }]
  })
