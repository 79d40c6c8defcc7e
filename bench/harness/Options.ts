// The command line of `npm run bench`.
import { Flag } from "effect/cli"
import { cases } from "./Cases.ts"

const words = (name: string, otherwise: string, about: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${about} (default ${otherwise})`),
    Flag.map((text) => text.split(",")),
    Flag.optional
  )

const numbers = (name: string, otherwise: string, about: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${about} (default ${otherwise})`),
    Flag.map((text) => text.split(",").map((each) => Number(each.replaceAll("_", "")))),
    Flag.optional
  )

const names = cases.map(({ name }) => name).join(",")

export const flags = {
  quick: Flag.Boolean("quick").pipe(
    Flag.withDescription("Short rounds, 64 connections, 1,000 and 100,000 relayers: about 3 minutes"),
    Flag.withDefault(false)
  ),
  smoke: Flag.Boolean("smoke").pipe(
    Flag.withDescription("A few requests on 100 relayers: whether everybody answers right, not how fast"),
    Flag.withDefault(false)
  ),
  cases: words("cases", names, "What to measure"),
  contenders: words("contenders", "service,fastify,limit,pgbench", "Who takes part"),
  sizes: numbers("sizes", "1000,100000,1000000", "Numbers of relayers"),
  connections: numbers("connections", "64,1,512, of some cases 64", "Numbers of connections"),
  rounds: Flag.Int("rounds").pipe(Flag.withDescription("Rounds of each contender (default 5)"), Flag.optional),
  seconds: Flag.Int("seconds").pipe(Flag.withDescription("Seconds of a round (default 3)"), Flag.optional),
  against: Flag.String("against").pipe(
    Flag.withDescription(
      "Folder of another checkout of the service, with its dependencies, that takes part as `before`"
    ),
    Flag.optional
  ),
  json: Flag.String("json").pipe(Flag.withDescription("File that gets the results"), Flag.optional),
  build: Flag.Boolean("build").pipe(
    Flag.withDescription("Builds first; --no-build takes what is there"),
    Flag.withDefault(true)
  )
}
