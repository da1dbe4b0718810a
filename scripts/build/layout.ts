/**
 * Which files the package consists of. Every entry is one small file that exports its names from chunks, and there is one chunk per folder
 * of `src/`: a program loads three or four files instead of hundreds, and an error's stack names the folder.
 */
import { join, sep } from 'node:path'
import { ROOT, readJson } from '../tools.ts'

const SRC = join(ROOT, 'src')

/** What a subpath of the package resolves to. */
export interface Conditions {
	readonly 'module-sync': { readonly types: string; readonly default: string }
	readonly bun: { readonly types: string; readonly default: string }
	readonly require: { readonly types: string; readonly default: string }
	readonly default: { readonly types: string; readonly default: string }
}

/** Returns the subpaths of package.json that are code, with their targets. */
export function exportedSubpaths(): [subpath: string, target: Conditions][] {
	const exports = readJson(join(ROOT, 'package.json'))['exports'] as Record<string, string | Conditions>
	return Object.entries(exports).flatMap(([subpath, target]) =>
		typeof target === 'string' ? [] : [[subpath, target]],
	)
}

/** Returns the name of an entry in `dist/`: `./dist/outbox/store.js` is `outbox/store`. */
export const entryName = (built: string): string => built.replace(/^\.\/dist\/(.*)\.js$/, '$1')

/** Returns the sources of the entries by their names in `dist/`: `dist/http.js` is built from `src/http/index.ts`. */
export function libraryEntries(): Record<string, string> {
	const names = exportedSubpaths().map(([, target]) => entryName(target.default.default))
	return Object.fromEntries(names.map((name) => [name, join(SRC, name, 'index.ts')]))
}

/** The command, and the programs that it starts by the name of their file. */
export const COMMAND_ENTRIES: Readonly<Record<string, string>> = {
	'cli/main': join(SRC, 'cli', 'main.ts'),
	'cli/worker': join(SRC, 'cli', 'simulate', 'worker.ts'),
	'cli/relay-worker': join(SRC, 'cli', 'demo', 'relay-worker.ts'),
}

/** Loaded on demand: the parts of the command, the studies of the simulator, and the queries of dashboards. */
const ON_DEMAND = /^(cli\/|sim\/scenarios\/(?!catalog)|telemetry\/queries\/)/

/** The files of the dashboard's page. The module is as large as they are, and the first request loads it. */
export const PAGE_DATA: string = join(SRC, 'dashboard', 'server', 'page-data.ts')

/** The commands that open a database are one chunk: each file of its own would be one more in the package. */
const DATABASE_COMMANDS = /^cli\/(outbox|idempotency|database|schema)\//

/** Returns the chunk that a source belongs to. `null`: the bundler decides. An entry itself only names exports, and is no part of a chunk. */
export function chunkOf(id: string): string | null {
	const path = sourcePath(id)
	if (path !== undefined && DATABASE_COMMANDS.test(path)) return 'database-commands'
	if (path === undefined || ON_DEMAND.test(path) || Object.values(libraryEntries()).includes(id)) return null
	const [, suite] = /^(outbox|idempotency)\/testing\//.exec(path) ?? []
	if (suite !== undefined) return `${suite}-testing`
	// Its imports from Node must not be loaded with the part that runs anywhere.
	if (path.startsWith('telemetry/node/')) return 'telemetry-node'
	if (id === PAGE_DATA) return 'dashboard-page'
	return path.split('/')[0] ?? null
}

/** Returns the path of a source below `src/`. */
export const sourcePath = (id: string): string | undefined =>
	id.startsWith(SRC + sep) ? id.slice(SRC.length + 1).replaceAll(sep, '/') : undefined

/**
 * Chunks that exist once, as CommonJS, and that ES modules import: they need Node, so no browser and hardly a bundler loads them. Two
 * copies of each would be a third of the package. They load the other chunks by `#chunks/…`, so that Node gives them the ES modules that
 * the program has loaded too, and Jest the CommonJS files.
 */
export const ONCE: readonly string[] = [
	...['outbox', 'outbox-testing', 'idempotency-testing', 'telemetry-node'],
	...['dashboard', 'dashboard-page'],
]

/** Chunks that no call of an application runs through: so they are compact. */
export const OFF_CALL_PATH: readonly string[] = [
	...['sim', 'studies', 'outbox-testing', 'idempotency-testing'],
	...['dashboard', 'dashboard-page'],
]
