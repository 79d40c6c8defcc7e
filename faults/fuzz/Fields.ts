// Valid texts for a field, by its pattern or by the meaning of its name.
import type { Random } from "./Random.ts"
import { marker } from "./World.ts"
import type { World } from "./World.ts"

const hex = (random: Random, length: number) =>
  random.times(length, () => "0123456789abcdef".charAt(random.below(16))).join("")

export const letters = (random: Random, least: number, most: number) =>
  random.times(random.between(least, most), () => "abcXYZ019-_".charAt(random.below(11))).join("")

/** Makes a text for each pattern of the document. */
export const byPattern: Readonly<Record<string, (random: Random, world: World) => string>> = {
  "^[A-Za-z0-9_-]{1,36}$": (random, world) =>
    random.chance(0.9) ? random.pick(world.ids) : letters(random, 1, random.pick([1, 36])),
  "^[A-Za-z0-9_-]{43}$": (random) => random.times(43, () => "abcXYZ019-_".charAt(random.below(11))).join(""),
  "^[A-Za-z_$][A-Za-z0-9_$]*$": (random) => random.pick(["Mail", "Person", "EIP712Domain"]),
  "^[^\\s/]+$": (random, world) => random.pick(world.networks),
  "^(evm|solana|stellar):[^\\s/\\0]{1,64}$": (random, world) =>
    `${random.pick(["evm", "evm", "solana", "stellar"])}:${random.pick(world.networks)}`,
  "^(0x)?[0-9a-fA-F]{64}$": (random) => `${random.pick(["", "0x"])}${marker}${hex(random, 48)}`,
  "^((0x)?[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{65,88})$": (random) =>
    random.pick([`0x${marker}${hex(random, 48)}`, hex(random, 64), "2".repeat(88)]),
  "^[1-9A-HJ-NP-Za-km-z]{32,44}$": (random) =>
    `4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncD${random.pick(["U", "V", "W"])}`,
  "^(|native|XLM|C[A-Z2-7]{55}|[A-Za-z0-9]{1,12}:G[A-Z2-7]{55})$": (random) =>
    random.pick(["", "native", "XLM", `C${"A".repeat(55)}`, `USDC:G${"B".repeat(55)}`]),
  "^[0-9a-f]{64}$": (random) => hex(random, 64),
  "^\\d{1,16}:[0-9a-f]{64}$": (random) => `${random.below(1000)}:${hex(random, 64)}`,
  "^([a-z0-9]{1,16}_[A-Za-z0-9_]{1,64}|[a-z][A-Za-z0-9]{2,63})$": (random) =>
    random.pick(["eth_call", "eth_getLogs", "net_version", "getHealth", "sendTransaction"]),
  "^(0|-?[1-9]\\d{0,38})$|^-?(0|[1-9]\\d*)(\\.\\d+)?[eE][+-]?\\d+$": (random) =>
    random.pick(["0", "1", "-1", String(2n ** 63n - 1n), String(2n ** 63n)]),
  "^(0|[1-9]\\d{0,18})$": (random) => random.pick(["0", "257698037760000001", String(2n ** 63n - 1n)]),
  "^[a-zA-Z0-9_]{1,32}$": (random) => random.pick(["transfer", "approve", "increment"]),
  "^0x[0-9a-fA-F]{1,64}$": (random) => `0x${hex(random, random.pick([1, 2, 64]))}`,
  "^0x([0-9a-fA-F]{2})+$": (random) => `0x${hex(random, 2 * random.between(1, 100))}`,
  "^([0-9a-fA-F]{2})+$": (random) => hex(random, 2 * random.between(1, 40)),
  "^[a-zA-Z0-9]{5,12}$": (random) => random.pick(["EURTOKEN", "ABCDE", "ABCDEFGHIJKL"]),
  "^[a-zA-Z0-9]{1,4}$": (random) => random.pick(["A", "USDC"]),
  "^[0-9a-fA-F]{64}$": (random) => hex(random, 64),
  "^\\d{1,15}:[0-9a-f]{64}$": (random) => `${random.below(100)}:${hex(random, 64)}`,
  // A UUID, as Effect writes its pattern.
  "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|[fF]{8}-[fF]{4}-[fF]{4}-[fF]{4}-[fF]{12})$":
    (random) => `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`,
  "^C[A-Z2-7]{55}$": () => `C${"A".repeat(55)}`,
  "^[GC][A-Z2-7]{55}$": (random) => `${random.pick(["G", "C"])}${"A".repeat(55)}`,
  "^0x([0-9a-fA-F]{2})*$": (random) => `0x${hex(random, 2 * random.below(40))}`,
  "^0x[0-9a-fA-F]{64}$": (random) => `0x${hex(random, 64)}`,
  "^0x[0-9a-f]{64}$": (random) => `0x${hex(random, 64)}`,
  "^(0|[1-9]\\d{0,77}|0x[0-9a-fA-F]{1,64})$|^-?(0|[1-9]\\d*)(\\.\\d+)?[eE][+-]?\\d+$": (random) =>
    random.pick(["0", String(random.below(2 ** 30)), `0x${hex(random, 64)}`]),
  "^0x[0-9a-fA-F]{40}$": (random) => `0x${hex(random, 40)}`,
  "^0x[0-9a-fA-F]{40}:0x([0-9a-fA-F]{8})?$": (random) => `0x${hex(random, 40)}:0x${hex(random, random.pick([0, 8]))}`,
  "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$": (random) => `c${random.pick(["", letters(random, 1, 20)])}`,
  "^[A-Za-z0-9_-][A-Za-z0-9._-]*$": (random) => `k${letters(random, 1, 20)}`,
  "^[A-Za-z0-9_-][A-Za-z0-9._-]*(\\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$": (random) => `k/${letters(random, 1, 9)}`,
  "^(0|[1-9]\\d{0,38})$|^-?(0|[1-9]\\d*)(\\.\\d+)?[eE][+-]?\\d+$": (random) =>
    random.pick(["0", String(random.below(2 ** 30)), String(2n ** 64n - 1n)]),
  "^-?\\d+$": (random) => String(random.below(2 ** 30)),
  "^[\\x21-\\x7e]{1,255}$": (random) => `idempotency-${letters(random, 1, 3)}`,
  "^(?:[1-9][0-9]{0,2}[mhd]|never)$": (random) => random.pick(["30m", "1h", "2d", "never"]),
  "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$": (random) => Buffer.from(hex(random, 32)).toString("base64")
}

const secret = (random: Random) => `${marker}-${letters(random, 16, 40)}`

const url = (random: Random, { receiver }: World) =>
  random.pick([
    `${receiver}/ok`,
    `${receiver}/500`,
    `${receiver}/garbage`,
    "http://10.0.0.1/",
    "https://a.example.invalid/v1"
  ])

/** URLs that contain secrets, like those of RPC providers. */
const secretUrl = (random: Random, { receiver }: World) =>
  random.pick([
    `${receiver}/ok/${secret(random)}`,
    `${receiver}/500?key=${secret(random)}`,
    `http://u:${secret(random)}@127.0.0.1:1/`
  ])

/** Makes a text by the meaning of a field whose schema is only a string. */
export const byName: Readonly<Record<string, (random: Random, world: World) => unknown>> = {
  url,
  rpc_urls: secretUrl,
  "rpc_urls.url": secretUrl,
  "custom_rpc_urls.url": secretUrl,
  address: url,
  horizon_url: url,
  explorer_urls: url,
  signing_key: secret,
  "config.passphrase": (random, { passphrase }) => (random.chance(0.5) ? passphrase : secret(random)),
  role_id: secret,
  secret_id: secret,
  keystore: (random, { keystore }) => (random.chance(0.5) ? keystore : JSON.stringify(keystore)),
  page: (random) => String(random.pick([0, 1, 2, 1000, 2 ** 31, Number.MAX_SAFE_INTEGER])),
  per_page: (random) => String(random.pick([0, 1, 3, 10, 1000, 5000])),
  limit: (random) => String(random.pick([1, 5, 100, 1000])),
  after: (random) => String(random.pick([0, 1, 50, 2 ** 53])),
  position: (random) => String(random.between(1, 500)),
  // Longer waits would only slow the run down.
  wait: (random) => random.pick(["0", "1"]),
  cursor: (random, { cursors }) => random.pick(cursors),
  "if-match": (random) => random.pick(['"1.1"', '"2.1"', "*", '"1.1", "2.1"', 'W/"1.1"', '"1"'])
}
