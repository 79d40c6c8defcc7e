// What `effect-relayer dev` prints.
import { Redacted } from "effect"
import * as path from "node:path"
import { running } from "../Running.ts"
import type { DevelopmentNetwork, LocalChain } from "./DevelopmentNetwork.ts"
import * as FirstTransaction from "./FirstTransaction.ts"

interface Prepared {
  readonly network: DevelopmentNetwork
  readonly chain: LocalChain
  readonly relayer: { readonly address: string; readonly paused: boolean }
}

/** The pages of the service, and what they are for. */
const pages: ReadonlyArray<readonly [path: string, use: string]> = [
  ["/console", "the console; sign in with the API key"],
  ["/", "version and readiness"],
  ["/docs", "API documents"]
]

export const warning = (unused: ReadonlyArray<string>): string => {
  const lines = [
    "effect-relayer dev is for development, NOT FOR PRODUCTION: its chains have no real money, and it prints its API key."
  ]
  if (unused.length > 0) lines.push(`It does not use these settings: ${unused.join(", ")}.`)
  return lines.join("\n")
}

/** Commands of the documents have the usual port. Without this line, they would reach the program that has it. */
const otherPort = ({ url, usualPort }: LocalChain): ReadonlyArray<string> => {
  const { host, port } = new URL(url)
  return port === String(usualPort)
    ? []
    : [`           another program uses port ${usualPort}: in commands of the documents, write ${host} instead`]
}

interface Started {
  readonly baseUrl: string
  /** The data directory. */
  readonly folder: string
  readonly prepared: ReadonlyArray<Prepared>
}

export const started = ({ baseUrl, folder, prepared }: Started): string =>
  [
    `\neffect-relayer listens on ${baseUrl}   version ${running}   data in ${folder}`,
    ...prepared.flatMap(({ network, chain, relayer }) => [
      `  chain    ${chain.description}`,
      ...otherPort(chain),
      `  relayer  ${FirstTransaction.relayerId(network)}, ${relayer.address}${relayer.paused ? ", paused" : ""}`
    ])
  ].join("\n")

const curl = (baseUrl: string, key: Redacted.Redacted, { network, relayer }: Prepared): string =>
  [
    `  curl -X POST ${baseUrl}/api/v1/relayers/${FirstTransaction.relayerId(network)}/transactions \\`,
    `    -H "Authorization: Bearer ${Redacted.value(key)}" -H "Content-Type: application/json" \\`,
    `    -d '${JSON.stringify(network.transaction(relayer.address))}'`
  ].join("\n")

const width = Math.max(...pages.map(([page]) => page.length))

export const use = ({ baseUrl, folder, key, prepared }: Started & { readonly key: Redacted.Redacted }): string =>
  [
    `\nAPI key, also in ${path.join(folder, "api-key")}:\n\n  ${Redacted.value(key)}`,
    ...prepared.map((one) => `\nSend ${one.network.effect}:\n\n${curl(baseUrl, key, one)}`),
    `\nPages:\n\n${pages.map(([page, about]) => `  ${`${baseUrl}${page}`.padEnd(baseUrl.length + width)}  ${about}`).join("\n")}`,
    "\nThe service runs until Ctrl+C. The next start finds chains and relayers as they were; --reset begins anew."
  ].join("\n")
