// Generates the Python client in a virtual environment, and runs `clients/python.py` with it.
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { document, execute, tools } from "./commands.mjs"

const canMakeEnvironments = (file) => spawnSync(file, ["-c", "import venv, ensurepip"]).status === 0

/** Python 3 with the module venv, or `undefined`. */
export const python = ["python3", "python"].find(canMakeEnvironments)

/** A function that runs the client. */
export const generatePython = (folder) => {
  execute(python, ["-m", "venv", folder])
  const bin = (name) => join(folder, "bin", name)
  execute(bin("pip"), ["install", "--quiet", "--disable-pip-version-check", "-r", join(tools, "requirements.txt")])
  const config = join(folder, "config.yaml")
  writeFileSync(config, "post_hooks: []\n")
  const generated = join(folder, "generated")
  const options = ["--path", document, "--output-path", generated, "--config", config]
  // The generator leaves out what it does not support, and only warns of it.
  execute(bin("openapi-python-client"), ["generate", ...options, "--fail-on-warning"])
  return ({ baseUrl, apiKey, id }) =>
    JSON.parse(
      execute(bin("python"), [join(tools, "clients", "python.py"), baseUrl, id], {
        env: { ...process.env, API_KEY: apiKey, PYTHONPATH: generated, PYTHONDONTWRITEBYTECODE: "1" }
      })
    )
}
