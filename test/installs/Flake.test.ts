// Every output of flake.nix and the module of NixOS, evaluated by Nix with a stand-in for nixpkgs (tools/installs/nix). Nothing is built or downloaded.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Settings from "../../src/process/settings/Settings.ts"

const root = path.resolve(import.meta.dirname, "../..")

/** What Nix makes of settings of the module, which are an expression of Nix. */
const evaluated = (settings: string) => {
  const file = path.join(root, "tools/installs/nix/evaluate.nix")
  const args = ["--eval", "--strict", "--json", "--readonly-mode", file, "--arg", "settings", settings]
  const { error, status, stderr, stdout } = spawnSync("nix-instantiate", args, { encoding: "utf8" })
  if (error !== undefined) throw error
  return { status, stderr, stdout }
}

const valueOf = (settings: string): ReturnType<typeof JSON.parse> => {
  const { status, stderr, stdout } = evaluated(settings)
  assert.strictEqual(status, 0, stderr)
  return JSON.parse(stdout)
}

const systems = ["aarch64-darwin", "aarch64-linux", "x86_64-darwin", "x86_64-linux"]

describe("the flake", () => {
  it("has a package, a shell, a check and a formatter for each system, and a module of NixOS", () => {
    const { outputs } = valueOf("{ }")
    const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))
    for (const system of systems) {
      assert.match(outputs.packages[system].default, new RegExp(`-effect-relayer-${version}\\.drv$`))
      assert.match(outputs.devShells[system].default, /\.drv$/)
      assert.match(outputs.checks[system].starts, /\.drv$/)
      assert.match(outputs.formatter[system], /\.drv$/)
    }
    assert.deepStrictEqual(outputs.modules, ["default"])
    assert.deepStrictEqual(outputs.names, ["checks", "devShells", "formatter", "nixosModules", "packages"])
  })
})

describe("the module of NixOS", () => {
  const unitOf = (settings: string) => valueOf(settings).machine.systemd.services["effect-relayer"]

  it("changes nothing unless it is enabled", () => {
    assert.deepStrictEqual(valueOf("{ }").machine, {})
  })

  it("runs the service as a user of its own, with the settings of the unit in deploy/", () => {
    const { environment, serviceConfig, script } = unitOf("{ enable = true; }")
    assert.match(script, /^exec \S+\/bin\/effect-relayer serve$/)
    const unit = fs.readFileSync(path.join(root, "deploy/effect-relayer.service"), "utf8")
    const lines = [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value] as const)
    const own = new Set(["Environment", "EnvironmentFile", "ExecStart", "Description", "After", "Wants", "WantedBy"])
    const shown = (value: unknown): string =>
      value === true ? "yes" : Array.isArray(value) ? value.join(" ") : String(value)
    for (const [name, value] of lines.filter(([name]) => !own.has(name))) {
      assert.strictEqual(shown(serviceConfig[name]), value, name)
    }
    const variables = lines.filter(([name]) => name === "Environment").map(([, value]) => value)
    assert.sameMembers(
      Object.entries(environment).map(([name, value]) => `${name}=${String(value)}`),
      variables
    )
  })

  it("gives secrets to the service by files that only its unit can read", () => {
    const settings = `{ enable = true; secrets = { DATABASE_URL = "/run/url"; STORAGE_ENCRYPTION_KEY = "/run/key"; }; }`
    const { environment, serviceConfig, script } = unitOf(settings)
    assert.deepStrictEqual(serviceConfig.LoadCredential, ["DATABASE_URL:/run/url", "STORAGE_ENCRYPTION_KEY:/run/key"])
    assert.include(script, 'export DATABASE_URL="$(< "$CREDENTIALS_DIRECTORY/DATABASE_URL")"')
    assert.notInclude(Object.keys(environment), "DATABASE_URL")
  })

  it("sets only variables that exist", () => {
    const names = new Set<string>([...Settings.described.map(({ name }) => name), "NODE_ENV"])
    for (const name of Object.keys(unitOf("{ enable = true; }").environment)) assert.isTrue(names.has(name), name)
  })

  it("opens the port of the firewall only if it is told to", () => {
    const portsOf = (more: string) => valueOf(`{ enable = true; port = 9000; ${more} }`).machine.networking.firewall
    assert.deepStrictEqual(portsOf("").allowedTCPPorts, [])
    assert.deepStrictEqual(portsOf("openFirewall = true;").allowedTCPPorts, [9000])
  })

  const refusals: ReadonlyArray<readonly [what: string, settings: string, text: RegExp]> = [
    [
      "a database without the master key",
      `secrets.DATABASE_URL = "/run/url";`,
      /STORAGE_ENCRYPTION_KEY, the master key/
    ],
    ["a secret among the settings", `settings.API_KEY = "a";`, /everybody on the machine can read it/],
    ["an option that does not exist", "ports = 1;", /ports does not exist/],
    ["a port that is none", "port = 70000;", /port is no port/],
    ["a setting that is no text", "settings.PORT = 1;", /settings is no attrsOf str/]
  ]
  for (const [what, settings, text] of refusals) {
    it(`refuses ${what}`, () => {
      const { status, stderr } = evaluated(`{ enable = true; ${settings} }`)
      assert.notStrictEqual(status, 0)
      assert.match(stderr, text)
    })
  }
})
