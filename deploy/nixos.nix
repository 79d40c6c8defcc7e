# The service on NixOS, as the unit deploy/effect-relayer.service runs it elsewhere:
#   imports = [ effect-relayer.nixosModules.default ];
#   services.effect-relayer = {
#     enable = true;
#     secrets.DATABASE_URL = "/run/secrets/database-url";   # without it: the embedded PostgreSQL, in /var/lib/effect-relayer
#     settings.LOG_LEVEL = "debug";
#   };
# The first start creates what `secrets` does not name: /var/lib/effect-relayer/api-key and storage-encryption-key.
self:
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.effect-relayer;
  name = "effect-relayer";
  home = "/var/lib/${name}";
  # Systemd gives the files to this unit alone. Their content is in no store and no command line.
  export = variable: "export ${variable}=\"$(< \"$CREDENTIALS_DIRECTORY/${variable}\")\"";
in
{
  options.services.effect-relayer = {
    enable = lib.mkEnableOption "effect-relayer, a service that manages blockchain relayers";

    package = lib.mkOption {
      type = lib.types.package;
      default = self.packages.${pkgs.stdenv.hostPlatform.system}.default;
      defaultText = "the package of this flake";
      description = "The package that runs.";
    };

    host = lib.mkOption {
      type = lib.types.str;
      default = "127.0.0.1";
      description = "The address to listen on. The service speaks HTTP: put a proxy with TLS in front of it.";
    };

    port = lib.mkOption {
      type = lib.types.port;
      default = 8080;
      description = "The port to listen on.";
    };

    openFirewall = lib.mkOption {
      type = lib.types.bool;
      default = false;
      description = "Whether the firewall lets others connect to the port.";
    };

    secrets = lib.mkOption {
      type = lib.types.attrsOf lib.types.path;
      default = { };
      example = {
        DATABASE_URL = "/run/secrets/database-url";
        STORAGE_ENCRYPTION_KEY = "/run/secrets/master-key";
      };
      description = ''
        Files with secrets, by the variable of docs/settings.md. Root reads them at each start. With DATABASE_URL, STORAGE_ENCRYPTION_KEY is required.
      '';
    };

    settings = lib.mkOption {
      type = lib.types.attrsOf lib.types.str;
      default = { };
      example = {
        LOG_LEVEL = "debug";
      };
      description = "Further variables of docs/settings.md. They are readable by everybody on the machine.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion = cfg.secrets ? DATABASE_URL -> cfg.secrets ? STORAGE_ENCRYPTION_KEY;
        message = "services.effect-relayer.secrets: with DATABASE_URL, name a file with STORAGE_ENCRYPTION_KEY, the master key of all instances";
      }
      {
        assertion = !(cfg.settings ? API_KEY || cfg.settings ? DATABASE_URL || cfg.settings ? STORAGE_ENCRYPTION_KEY);
        message = "services.effect-relayer.settings: everybody on the machine can read it. Name files of API_KEY, DATABASE_URL and STORAGE_ENCRYPTION_KEY in secrets";
      }
    ];

    users.users.${name} = {
      isSystemUser = true;
      group = name;
      inherit home;
    };
    users.groups.${name} = { };

    networking.firewall.allowedTCPPorts = lib.optional cfg.openFirewall cfg.port;

    systemd.services.${name} = {
      description = name;
      after = [
        "network-online.target"
        "postgresql.service"
      ];
      wants = [ "network-online.target" ];
      wantedBy = [ "multi-user.target" ];
      environment = {
        NODE_ENV = "production";
        HOST = cfg.host;
        PORT = toString cfg.port;
        DATA_DIR = home;
        SHUTDOWN_GRACE_MS = "10000";
        LOG_FORMAT = "json";
      }
      // cfg.settings;
      script = lib.concatStringsSep "\n" (
        map export (lib.attrNames cfg.secrets) ++ [ "exec ${cfg.package}/bin/${name} serve" ]
      );
      serviceConfig = {
        User = name;
        Group = name;
        LoadCredential = lib.mapAttrsToList (variable: file: "${variable}:${toString file}") cfg.secrets;
        WorkingDirectory = home;
        Restart = "on-failure";
        RestartSec = 2;
        # Longer than SHUTDOWN_GRACE_MS, for connections that close slowly and for PostgreSQL to stop.
        TimeoutStopSec = 30;
        # Only the service gets the signal: it stops PostgreSQL itself, as the last thing.
        KillMode = "mixed";
        LimitNOFILE = 65536;
        StateDirectory = name;
        # PostgreSQL refuses a folder that others can read.
        StateDirectoryMode = "0700";
        UMask = "0077";
        ProtectSystem = "strict";
        ProtectHome = true;
        PrivateTmp = true;
        PrivateDevices = true;
        ProtectKernelTunables = true;
        ProtectKernelModules = true;
        ProtectKernelLogs = true;
        ProtectControlGroups = true;
        ProtectClock = true;
        ProtectHostname = true;
        NoNewPrivileges = true;
        RestrictSUIDSGID = true;
        RestrictRealtime = true;
        RestrictNamespaces = true;
        LockPersonality = true;
        CapabilityBoundingSet = "";
        RestrictAddressFamilies = [
          "AF_INET"
          "AF_INET6"
          "AF_UNIX"
        ];
        SystemCallArchitectures = "native";
        # Node compiles JavaScript at run time, so MemoryDenyWriteExecute is not possible.
      };
    };
  };
}
