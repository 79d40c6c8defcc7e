// What the primary and its workers ask each other.
import type { RateLimiter } from "effect/persistence"
import type { Statuses } from "../server/lifecycle/Jobs.ts"

/** What a worker is to serve. Secrets are as they are: nobody else can read the channel. */
export interface Begin {
  /** Of `Settings.merge`. */
  readonly settings: Readonly<Record<string, string>>
  readonly databaseUrl: string
  readonly apiKey: string
  /** As base64; the first one is the current one. */
  readonly masterKeys: ReadonlyArray<string>
  /** Whether the primary keeps master keys in a file. */
  readonly keepsMasterKeys: boolean
}

export interface Listening {
  /** As a URL. */
  readonly address: string
}

/** As the methods of `RateLimiterStore` have it, with a span of time that JSON can carry. */
type Counted<Method extends "tokenBucket" | "fixedWindow"> = Omit<
  Parameters<RateLimiter.RateLimiterStore["Service"][Method]>[0],
  "refillRate"
> & {
  /** Milliseconds. */
  readonly refillRate: number
}

interface Asked<Question, Answer> {
  readonly question: Question
  readonly answer: Answer
}

export interface OfPrimary {
  readonly begin: Asked<null, Begin>
  readonly listening: Asked<Listening, null>
  /** The worker cannot serve, for this reason, and ends. */
  readonly failed: Asked<string, null>
  readonly tokenBucket: Asked<Counted<"tokenBucket">, readonly [remaining: number, elapsedMillis: number]>
  readonly fixedWindow: Asked<Counted<"fixedWindow">, readonly [count: number, ttl: number]>
  readonly keepMasterKeys: Asked<ReadonlyArray<string>, null>
  readonly useMasterKeys: Asked<ReadonlyArray<string>, null>
  /** From this worker's to those of all. */
  readonly metrics: Asked<string, string>
  readonly statuses: Asked<Statuses, Statuses>
}

export interface OfWorker {
  readonly stop: Asked<null, null>
  readonly metrics: Asked<null, string>
  readonly statuses: Asked<null, Statuses>
  /** To open with, all of them; to seal with, the one of before. */
  readonly learnMasterKeys: Asked<ReadonlyArray<string>, null>
  /** To seal with, the first. */
  readonly useMasterKeys: Asked<ReadonlyArray<string>, null>
}
