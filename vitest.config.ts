// The tests of `npm test`. They are of two projects: `unit` starts no database, `postgres` one PostgreSQL for all of its files. A run of all of
// them is one project.
import { existsSync, statfsSync } from "node:fs"
import { availableParallelism } from "node:os"
import * as path from "node:path"
import { configDefaults, defineConfig } from "vitest/config"
import { LongFirst } from "./testkit/LongFirst.ts"

/** The in-memory file system of Linux. In Docker it has 64 MB by default, which is too small. */
const memory = "/dev/shm"
const roomBytes = 2 ** 30

const hasRoom = (folder: string) => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > roomBytes
}

// A database has 300 files. On a disk, the tests would spend most of their time creating and removing files.
if (existsSync(memory) && hasRoom(memory)) process.env.TMPDIR ??= memory

// Node keeps what a process has compiled for the ones after it.
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, "node_modules/.cache/effect-relayer")

const unit = [
  "test/{api,bench,cli,console,deploy,domain,faults,import,mutants,outbound,testkit,threads}/**/*.test.ts",
  "test/{claims,exports,floors,seams,traces,transactionsFailures}.test.ts",
  "test/client/{Webhook,node/*}.test.ts",
  "test/process/{LocalEvm,Logging,StartupBanner,http/IdleConnections,settings/{ConsoleSettings,Keys,Misspelled}}.test.ts",
  "test/server/access/KeyAuthentication.test.ts",
  "test/server/audit/Chain.test.ts",
  "test/networks/{core,*/chain,*/rules}/**/*.test.ts",
  "test/networks/solana/lane/SolanaContext.test.ts",
  "test/server/chains/**/*.test.ts",
  "test/server/lanes/{LaneLife,LanesJob,Pulse}.test.ts",
  "test/server/networks/builtin.test.ts",
  "test/server/notifications/delivery/BackOff.test.ts",
  "test/sql/{Paced,Rows,Tls}.test.ts",
  "test/server/signers/{Keystore,KeystoreQueue,LocalKey,Vault,VaultTransit}.test.ts",
  "test/server/http/Yaml.test.ts",
  "test/server/console/Site.test.ts",
  "test/server/responses/{Accept,ClientAddress,GroupServices}.test.ts",
  "test/server/transactions/{SignedBytes,Simulated}.test.ts",
  "test/x402/*.test.ts"
]

/** Their services or packages are installed apart: `npm run test:redis`, `npm run test:svm`, and so on. */
const elsewhere = ["test/{redis,svm,wallets,pkcs11,ministack,installs,packages,prepared,x402/stock}/**"]

const everything = { include: ["test/**/*.test.ts"], exclude: [...configDefaults.exclude, ...elsewhere] }

/** As `npm test` and CI begin it: without names of files and of a project. */
const [command, ...words] = process.argv.slice(2)
const isWhole = command === "run" && words.every((word) => /^-(?!-project)/u.test(word))

const globalSetup = ["testkit/Postgres.ts"]

/** Real time, in milliseconds. No test waits this long on an idle machine, but a busy one may need it for the work of a test. */
const patience = 240_000

/** Megabytes for new objects. Node begins with one, and collects each time it is full, which takes a tenth of the processor time of the tests. */
const newObjects = 64

/** Each keeps up to eight connections to PostgreSQL, which accepts a hundred. */
const mostWorkers = 8

export default defineConfig({
  test: {
    // A worker loads the modules once, not once per file, which took 46 % of the whole time.
    isolate: false,
    // Node loads the sources itself, as it does for the service. With Vite's own loader, 31 files of rules took 15 s of the processor instead of 9 s.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: [
      `--min-semi-space-size=${newObjects}`,
      `--max-semi-space-size=${newObjects}`,
      "--import",
      path.join(import.meta.dirname, "testkit/FromSource.ts")
    ],
    // The longest files wait for most of their time, for blocks, leases and processes. Meanwhile the others need the processors. Each worker
    // loads and compiles what it runs: on two processors, six workers take 1,110 s of them, and four 970 s, in the same ten minutes.
    maxWorkers: Math.min(mostWorkers, 2 * availableParallelism()),
    sequence: { sequencer: LongFirst },
    silent: "passed-only",
    reporters: ["default", "./.ci/reporter.mjs"],
    setupFiles: ["testkit/ProcessorTime.ts"],
    testTimeout: patience,
    hookTimeout: patience,
    // Two projects share no worker, and a worker takes seconds of the processor until it has loaded and compiled what most files use.
    projects: isWhole
      ? [
          {
            extends: true,
            test: { name: "all", ...everything, globalSetup: [...globalSetup, "testkit/console/Bundle.ts"] }
          }
        ]
      : [
          { extends: true, test: { name: "unit", include: unit } },
          {
            extends: true,
            test: { name: "postgres", ...everything, exclude: [...everything.exclude, ...unit], globalSetup }
          }
        ]
  }
})
