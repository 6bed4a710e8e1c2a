"""Configuration files as the clients write them, and what becomes of each server in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HOME = "/home/ada"
PROJECT = "/projects/shop"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFileCase:
    """A file at a place, and the servers that come out of it.

    Attributes:
        bodies: server id -> body in our file.
        not_carried: server id -> keys without a part in it.
        refused: servers that cannot come along.
        variables: variables that have to be set, of all servers.
    """

    path: str
    text: str
    bodies: dict[str, Any]
    not_carried: dict[str, set[str]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)


CASES = {
    "Claude Desktop": ClientFileCase(
        path=f"{HOME}/.config/Claude/claude_desktop_config.json",
        text="""{
          "globalShortcut": "",
          "preferences": {"menuBarEnabled": false},
          "mcpServers": {
            "filesystem": {
              "command": "npx",
              "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Desktop"]
            },
            "github": {
              "command": "docker",
              "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github"],
              "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_x"}
            }
          }
        }""",
        bodies={
            "filesystem": {
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Desktop"],
            },
            "github": {
                "command": "docker",
                "args": [
                    "run",
                    "-i",
                    "--rm",
                    "-e",
                    "GITHUB_PERSONAL_ACCESS_TOKEN",
                    "ghcr.io/github",
                ],
                "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_x"},
            },
        },
    ),
    "Claude Code, the user and this project": ClientFileCase(
        path=f"{HOME}/.claude.json",
        text="""{
          "numStartups": 42,
          "mcpServers": {
            "sentry": {"type": "http", "url": "https://mcp.sentry.dev/mcp", "timeout": 120000,
                       "alwaysLoad": true},
            "asana": {"type": "sse", "url": "https://mcp.asana.com/sse"}
          },
          "projects": {
            "/projects/shop": {
              "allowedTools": [],
              "mcpServers": {
                "db": {"type": "stdio", "command": "npx", "args": ["-y", "@x/db", "${DB:-main}"],
                       "env": {}}
              }
            },
            "/projects/other": {"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}
          }
        }""",
        bodies={
            "sentry": {"url": "https://mcp.sentry.dev/mcp", "callTimeoutMs": 120000},
            "asana": {"url": "https://mcp.asana.com/sse", "transportFallback": "sse"},
            "db": {
                "command": "npx",
                "args": ["-y", "@x/db", "${DB:-main}"],
                "env": {},
                "cwd": PROJECT,
            },
        },
        not_carried={"sentry": {"alwaysLoad"}},
    ),
    "Claude Code, shared in a project": ClientFileCase(
        path=f"{PROJECT}/.mcp.json",
        text="""{
          "mcpServers": {
            "api": {"type": "http", "url": "${API_BASE:-https://api.example.com}/mcp",
                    "headers": {"Authorization": "Bearer ${API_KEY}"},
                    "headersHelper": "./token.sh"},
            "tools": {"command": "${CLAUDE_PROJECT_DIR:-.}/tools/serve.sh", "args": []},
            "relay": {"type": "ws", "url": "wss://relay.example.com"}
          }
        }""",
        bodies={
            "api": {
                "url": "${API_BASE:-https://api.example.com}/mcp",
                "headers": {"Authorization": "Bearer ${API_KEY}"},
            },
            "tools": {"command": f"{PROJECT}/tools/serve.sh", "args": [], "cwd": PROJECT},
        },
        not_carried={"api": {"headersHelper"}},
        refused={"relay"},
    ),
    "Cursor": ClientFileCase(
        path=f"{PROJECT}/.cursor/mcp.json",
        text="""{
          "mcpServers": {
            "server-name": {
              "type": "stdio", "command": "python", "args": ["${workspaceFolder}/mcp-server.py"],
              "env": {"API_KEY": "${env:API_KEY}", "CACHE": "${userHome}${/}cache"}
            },
            "oauth-server": {
              "url": "https://api.example.com/mcp",
              "auth": {"CLIENT_ID": "${env:ID}", "CLIENT_SECRET": "s", "scopes": ["read"]}
            }
          }
        }""",
        bodies={
            "server-name": {
                "command": "python",
                "args": [f"{PROJECT}/mcp-server.py"],
                "env": {"API_KEY": "${env:API_KEY}", "CACHE": f"{HOME}/cache"},
                "cwd": PROJECT,
            },
            "oauth-server": {
                "url": "https://api.example.com/mcp",
                "auth": {"clientId": "${env:ID}", "clientSecret": "s", "scope": "read"},
                "transportFallback": "sse",
            },
        },
    ),
    "VS Code, a workspace": ClientFileCase(
        path=f"{PROJECT}/.vscode/mcp.json",
        text="""{
          // keys are asked for once
          "inputs": [
            {"type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key",
             "password": true},
            {"type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu"},
          ],
          "servers": {
            "perplexity": {
              "type": "stdio", "command": "npx", "args": ["-y", "server-perplexity-ask"],
              "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}", "PORT": 8080, "OFF": null},
              "envFile": "${workspaceFolder}/.env"
            },
            "fetch": {
              "command": "uvx", "args": ["mcp-server-fetch", "--region=${input:region}"],
              "cwd": "${workspaceFolder}/tools",
              "sandboxEnabled": true, "sandbox": {"network": {"allowedDomains": ["x.example"]}},
              "dev": {"watch": "src/**", "debug": {"type": "node"}}
            },
            "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/",
                       "headers": {"Authorization": "Bearer ${input:token}"}},
            "pipe": {"type": "http", "url": "unix:///tmp/server.sock#/mcp"},
          },
        }""",
        bodies={
            "perplexity": {
                "command": "npx",
                "args": ["-y", "server-perplexity-ask"],
                "env": {
                    "FROM_FILE": "yes",
                    "PERPLEXITY_API_KEY": "${PERPLEXITY_KEY}",
                    "PORT": "8080",
                },
                "cwd": PROJECT,
            },
            "fetch": {
                "command": "uvx",
                "args": ["mcp-server-fetch", "--region=${FETCH_REGION:-eu}"],
                "cwd": f"{PROJECT}/tools",
            },
            "github": {
                "url": "https://api.githubcopilot.com/mcp/",
                "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
                "transportFallback": "sse",
            },
        },
        not_carried={"fetch": {"sandboxEnabled", "sandbox", "dev"}},
        refused={"pipe"},
        variables={"PERPLEXITY_KEY", "FETCH_REGION", "GITHUB_TOKEN"},
    ),
    "VS Code, the user's settings": ClientFileCase(
        path=f"{HOME}/.config/Code/User/settings.json",
        text="""{
          "editor.fontSize": 13,
          "mcp": {
            "inputs": [],
            "servers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}
          }
        }""",
        bodies={"time": {"command": "uvx", "args": ["mcp-server-time"]}},
    ),
    "Windsurf": ClientFileCase(
        path=f"{HOME}/.codeium/windsurf/mcp_config.json",
        text="""{
          "mcpServers": {
            "remote": {"serverUrl": "https://x.example/mcp",
                       "headers": {"API_KEY": "Bearer ${env:AUTH_TOKEN}"},
                       "disabled": false, "disabledTools": ["delete_all", "drop"]},
            "local": {"command": "npx", "args": ["-y", "x"], "env": {"K": "${file:~/.key}"},
                      "disabled": true}
          }
        }""",
        bodies={
            "remote": {
                "url": "https://x.example/mcp",
                "headers": {"API_KEY": "Bearer ${env:AUTH_TOKEN}"},
                "hiddenTools": ["delete_all", "drop"],
                "transportFallback": "sse",
            },
            "local": {
                "command": "npx",
                "args": ["-y", "x"],
                "env": {"K": "${file:~/.key}"},
                "disabled": True,
            },
        },
    ),
    "LM Studio": ClientFileCase(
        path=f"{HOME}/.lmstudio/mcp.json",
        text="""{
          "mcpServers": {
            "hf-mcp-server": {"url": "https://huggingface.co/mcp",
                              "headers": {"Authorization": "Bearer hf_x"}, "timeout": 300000}
          }
        }""",
        bodies={
            "hf-mcp-server": {
                "url": "https://huggingface.co/mcp",
                "headers": {"Authorization": "Bearer hf_x"},
                "callTimeoutMs": 300000,
                "transportFallback": "sse",
            },
        },
    ),
    "Cline": ClientFileCase(
        path=(
            f"{HOME}/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/"
            "cline_mcp_settings.json"
        ),
        text="""{
          "mcpServers": {
            "old": {"url": "https://x.example/sse", "disabled": false, "autoApprove": [],
                    "timeout": 60},
            "new": {"type": "streamableHttp", "url": "https://x.example/mcp"},
            "odd": {"transportType": "stdio", "command": "node", "args": ["s.js"],
                    "url": "https://unused.example", "headers": {}, "timeout": 0.5}
          }
        }""",
        bodies={
            "old": {
                "url": "https://x.example/sse",
                "callTimeoutMs": 60000,
                "transportFallback": "sse",
            },
            "new": {"url": "https://x.example/mcp"},
            "odd": {"command": "node", "args": ["s.js"], "callTimeoutMs": 500},
        },
        not_carried={"old": {"autoApprove"}, "odd": {"url", "headers"}},
    ),
    "Gemini CLI": ClientFileCase(
        path=f"{PROJECT}/.gemini/settings.json",
        text="""{
          "theme": "Dracula",
          "mcp": {"excluded": ["off"]},
          "mcpServers": {
            "py": {"command": "python", "args": ["-m", "my_mcp_server"], "cwd": "./mcp",
                   "env": {"URL": "$DB_URL/x", "KEY": "${EXT_KEY}"},
                   "timeout": 15000, "trust": true, "includeTools": ["a"], "excludeTools": ["b"]},
            "web": {"httpUrl": "http://localhost:3000/mcp", "description": "ours"},
            "both": {"url": "http://localhost:8080/sse", "httpUrl": "http://localhost:8080/mcp",
                     "oauth": {"enabled": true, "clientId": "me", "scopes": ["a", "b"],
                               "tokenUrl": "https://t.example"},
                     "authProviderType": "dynamic_discovery"},
            "off": {"url": "http://localhost:8080/sse"}
          }
        }""",
        bodies={
            "py": {
                "command": "python",
                "args": ["-m", "my_mcp_server"],
                "cwd": f"{PROJECT}/mcp",
                "env": {"URL": "${DB_URL}/x", "KEY": "${EXT_KEY}"},
                "callTimeoutMs": 15000,
                "hiddenTools": ["b"],
            },
            "web": {"url": "http://localhost:3000/mcp"},
            "both": {
                "url": "http://localhost:8080/mcp",
                "auth": {"clientId": "me", "scope": "a b"},
            },
            "off": {
                "url": "http://localhost:8080/sse",
                "disabled": True,
                "transportFallback": "sse",
            },
        },
        not_carried={
            "py": {"trust", "includeTools"},
            "web": {"description"},
            "both": {"url", "oauth.enabled", "oauth.tokenUrl", "authProviderType"},
        },
    ),
    "opencode 1": ClientFileCase(
        path=f"{HOME}/.config/opencode/opencode.jsonc",
        text="""{
          "$schema": "https://opencode.ai/config.json",
          "experimental": {"mcp_timeout": 7000},
          "mcp": {
            "everything": {"type": "local", "command": ["npx", "-y", "@x/everything"],
                           "environment": {"MY_ENV_VAR": "{env:MINE}"}, "enabled": false},
            "jira": {"type": "remote", "url": "https://jira.example.com/mcp", "timeout": 5000,
                     "headers": {"Authorization": "Bearer {file:~/.jira}"}, "oauth": false},
            "named-elsewhere": {"enabled": true},
          },
        }""",
        bodies={
            "everything": {
                "command": "npx",
                "args": ["-y", "@x/everything"],
                "env": {"MY_ENV_VAR": "{env:MINE}"},
                "callTimeoutMs": 7000,
                "disabled": True,
            },
            "jira": {
                "url": "https://jira.example.com/mcp",
                "headers": {"Authorization": "Bearer {file:~/.jira}"},
                "callTimeoutMs": 5000,
                "transportFallback": "sse",
            },
        },
        not_carried={"jira": {"oauth"}},
        refused={"named-elsewhere"},
    ),
    "opencode 2": ClientFileCase(
        path=f"{PROJECT}/opencode.json",
        text="""{
          "mcp": {
            "timeout": {"startup": 180000, "catalog": 120000},
            "servers": {
              "slow": {"type": "local", "command": ["uvx", "slow"], "cwd": "."},
              "fast": {"type": "remote", "url": "https://f.example/mcp", "disabled": true,
                       "codemode": false, "timeout": {"execution": 1000}}
            },
            "flat": {"type": "remote", "url": "https://g.example/mcp", "timeout": 9}
          }
        }""",
        bodies={
            "flat": {
                "url": "https://g.example/mcp",
                "callTimeoutMs": 9,
                "transportFallback": "sse",
            },
            "slow": {
                "command": "uvx",
                "args": ["slow"],
                "cwd": PROJECT,
                "connectTimeoutMs": 180000,
            },
            "fast": {
                "url": "https://f.example/mcp",
                "callTimeoutMs": 1000,
                "disabled": True,
                "transportFallback": "sse",
            },
        },
        not_carried={"slow": {"timeout.catalog"}, "fast": {"codemode"}},
    ),
    "Zed": ClientFileCase(
        path=f"{HOME}/.config/zed/settings.json",
        text="""{
          // Zed settings
          "theme": "One Dark",
          "context_server_timeout": 30,
          "context_servers": {
            "old-form": {"source": "custom", "command": {"path": "uvx", "args": ["a"],
                         "env": {"A": "1"}}, "settings": {}},
            "new-form": {"command": "some", "args": ["x"], "env": {}, "timeout": 5,
                         "remote": false, "enabled": true},
            "http": {"url": "https://z.example/mcp", "headers": {"Authorization": "Bearer t"}},
            "postgres": {"source": "extension", "settings": {"database_url": "postgres://x"}},
          },
        }""",
        bodies={
            "old-form": {
                "command": "uvx",
                "args": ["a"],
                "env": {"A": "1"},
                "callTimeoutMs": 30000,
            },
            "new-form": {"command": "some", "args": ["x"], "env": {}, "callTimeoutMs": 5000},
            "http": {
                "url": "https://z.example/mcp",
                "headers": {"Authorization": "Bearer t"},
                "callTimeoutMs": 30000,
            },
        },
        not_carried={"old-form": {"settings"}, "new-form": {"remote"}},
        refused={"postgres"},
    ),
}
