// A relayer on a node, for programs that run as processes with the address and a key in their environment.
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import { privateKeyToAccount } from "viem/accounts"
import * as Anvil from "../../testkit/Anvil.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { delegates, deploy, word } from "../../testkit/Delegates.ts"
import { key, relayerAt } from "../server/lanes/fixtures.ts"

export const root = path.resolve(import.meta.dirname, "../..")
export const tools = path.join(root, "tools/wallets")

/** The blocks of code in a section of docs/wallet-clients.md. */
export const blocksOf = (section: string) =>
  Effect.promise(async () => {
    const document = await fs.readFile(path.join(root, "docs/wallet-clients.md"), "utf8")
    const [, text = ""] = document.split(`\n## ${section}\n`)
    return [...(text.split("\n## ")[0] ?? "").matchAll(/```\w+\n([^]*?)```/g)].map(([, block = ""]) => block)
  })

/** Milliseconds that a program has: a bump takes at least six seconds. */
const timeout = 180_000

const run = promisify(execFile)

/** Python 3 with the module venv. Undefined: this machine has none. */
export const python = ["python3", "python"].find(
  (file) => spawnSync(file, ["-c", "import venv, ensurepip"]).status === 0
)

/** Python of a virtual environment with web3.py, which is kept for the next run. */
export const web3 = Effect.promise(async () => {
  const home = path.join(tools, ".venv")
  const bin = (name: string) => path.join(home, "bin", name)
  await run(python ?? "python3", ["-m", "venv", home])
  const options = ["install", "--quiet", "--disable-pip-version-check", "-r", path.join(tools, "requirements.txt")]
  await run(bin("pip"), options)
  return bin("python")
})

interface Mining {
  /** Seconds between two blocks. */
  readonly blockTime?: number
  readonly more?: ReadonlyArray<string>
}

export const connect = Effect.fnUntraced(function* (options: Mining) {
  const node = yield* Anvil.start(options)
  const account = yield* relayerAt(node)
  const { baseUrl } = yield* TestApi.TestApi
  const env = {
    PATH: [path.dirname(process.execPath), path.join(tools, "node_modules/.bin"), process.env.PATH].join(":"),
    API_KEY: TestApi.apiKey,
    RELAYER_RPC: `${baseUrl}/api/v1/relayers/${account.relayerId}/rpc`
  }
  return { node, account, env }
})

/** What the examples of sponsors print. */
export const sponsored = /^sponsored: confirmed true\nrefused: 400: authorization_list\.0\.nonce: authorization_used/

/** The same for a user without ether, whose account may run the code of a contract that stores a word. */
export const sponsoring = Effect.fnUntraced(function* (options: Mining) {
  const node = yield* Anvil.start(options)
  const delegate = yield* deploy(node, Anvil.funded, delegates.storing)
  const account = yield* relayerAt(node, {
    network: { features: ["eip1559", "eip7702"] },
    policies: { allowed_delegates: [delegate], whitelist_receivers: ["authority"] }
  })
  const { baseUrl } = yield* TestApi.TestApi
  const userKey = `0x${key()}` as const
  const env = {
    API_KEY: TestApi.apiKey,
    RELAYER_URL: baseUrl,
    RELAYER: account.relayerId,
    RPC_URL: node.url,
    USER_KEY: userKey,
    DELEGATE: delegate,
    DATA: word(7)
  }
  const { address } = privateKeyToAccount(userKey)
  const stored = Effect.map(node.call("eth_getStorageAt", [address, "0x0", "latest"]), String)
  return { env, stored }
})

/** What a program prints that runs in the folder. */
export const output = (cwd: string, env: NodeJS.ProcessEnv, file: string, args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const { stdout } = await run(file, args, { cwd, env: { HOME: cwd, ...env }, timeout })
    return stdout
  })

/** A folder with these files by name, which find the packages of `modules`. It is removed with the scope. */
export const folderWith = Effect.fnUntraced(function* (files: Readonly<Record<string, string>>, modules: string) {
  const home = yield* folder
  yield* Effect.promise(async () => {
    await fs.symlink(path.join(modules, "node_modules"), path.join(home, "node_modules"))
    await fs.writeFile(path.join(home, "package.json"), '{"type": "module"}')
    for (const [name, text] of Object.entries(files)) await fs.writeFile(path.join(home, name), text)
  })
  return home
})
