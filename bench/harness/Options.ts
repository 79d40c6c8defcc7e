// The command line of `npm run bench`.
import { Flag } from "effect/cli"
import type { Command } from "effect/cli"
import { cases } from "./Cases.ts"
import * as Names from "./Names.ts"

const text = (name: string, about: string) => Flag.String(name).pipe(Flag.withDescription(about))

const words = (name: string, about: string, known: ReadonlyArray<string>) =>
  text(name, `${about}: any of ${known.join(", ")} (default all)`).pipe(Names.flag(known), Flag.optional)

const numbers = (name: string, about: string) =>
  text(name, about).pipe(
    Flag.map((numbers) => numbers.split(",").map((number) => Number(number.replaceAll("_", "")))),
    Flag.optional
  )

const integer = (name: string, about: string) => Flag.Int(name).pipe(Flag.withDescription(about), Flag.optional)

const yes = (name: string, about: string, otherwise = false) =>
  Flag.Boolean(name).pipe(Flag.withDescription(about), Flag.withDefault(otherwise))

export const flags = {
  quick: yes("quick", "Short rounds, 64 connections, 1,000 and 100,000 relayers: about 7 minutes"),
  smoke: yes("smoke", "One second per case on 100 relayers: checks the responses, not the speed"),
  cases: words("cases", "Cases", [...cases.map(({ name }) => name), "starts", "memory"]),
  contenders: words("contenders", "Contenders besides the service", ["fastify", "limit", "pgbench"]),
  sizes: numbers("sizes", "Numbers of relayers (default 1000,100000,1000000)"),
  connections: numbers("connections", "Numbers of connections (default 64; some cases also use 1 and 512)"),
  rounds: integer("rounds", "Rounds of each contender (default 5)"),
  seconds: integer("seconds", "Seconds per round (default 3)"),
  minutes: integer("minutes", "Minutes of load for the memory case (default 10)"),
  against: text("against", "Folder of another installed checkout of the service, measured as `before`").pipe(
    Flag.optional
  ),
  consoles: Flag.Int("consoles").pipe(
    Flag.withDescription("Overviews of the console, at most 20, that are open beside a further contender `consoles`"),
    Flag.withDefault(0)
  ),
  json: text("json", "File that the results are written to").pipe(Flag.optional),
  build: yes("build", "Builds the service first; --no-build uses the existing build", true)
}

export type Given = Command.Command.Config.Infer<typeof flags>
