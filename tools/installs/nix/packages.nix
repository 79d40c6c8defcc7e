# Packages that flake.nix names, and functions that make some: each result is a derivation, whose text is evaluated and which is never built.
lib: system:
let
  package = name: derivation { inherit name system; builder = "/bin/sh"; };
in
{
  nodejs_24 = package "nodejs-24";
  postgresql_18 = package "postgresql-18";
  cacert = package "cacert";
  curl = package "curl";
  makeWrapper = package "makeWrapper";
  nixfmt-tree = package "nixfmt-tree";
  stdenv.hostPlatform.system = system;
  runCommand =
    name: attrs: script:
    derivation ({ inherit name system; builder = "/bin/sh"; args = [ "-c" script ]; } // attrs);
  mkShellNoCC = attrs: derivation ({ name = "shell"; inherit system; builder = "/bin/sh"; } // attrs);
  buildNpmPackage =
    attrs:
    derivation (
      removeAttrs attrs [ "meta" ]
      // {
        name = "${attrs.pname}-${attrs.version}";
        inherit system;
        builder = "/bin/sh";
      }
    )
    // {
      inherit (attrs) meta;
    };
  importNpmLock = {
    npmConfigHook = package "npm-config-hook";
    # As the real one: a module without a source of its own is an error.
    __functor =
      _:
      {
        package,
        packageLock,
        packageSourceOverrides,
      }:
      derivation {
        name = "npm-deps-${package.name}";
        inherit system;
        builder = "/bin/sh";
        sources = map (
          path: packageSourceOverrides.${path} or (throw "no source of ${path}")
        ) (lib.filter (path: packageLock.packages.${path} ? integrity) (lib.attrNames packageLock.packages));
      };
  };
}
