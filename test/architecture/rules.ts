/**
 * The rules of the architecture, checked on the sources: which floor may import which, what must run anywhere, where a clock may be read,
 * and how large folders and import chains may become. Pure functions, so that tests can show each rule a source that breaks it.
 */
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { findGlobals, findImports, type Import, type Source } from './syntax.ts'

/** From the ground up. A floor imports only from floors below it. */
const FLOORS: readonly (readonly string[])[] = [
	['core'],
	['testing', 'node', 'sql', 'text'],
	['http', 'sim'],
	['idempotency', 'grpc', 'webhooks'],
	['outbox'],
	['telemetry'],
	['dashboard'],
	['cli'],
]

/** These run in browsers and at the edge, where there is no `node:`. */
const RUNS_ANYWHERE = new Set([
	'core',
	'testing',
	'sql',
	'text',
	'http',
	'sim',
	'idempotency',
	'grpc',
	'webhooks',
	'telemetry',
])
/** Subpaths of their own for what needs Node. */
const NEEDS_NODE = /^src\/telemetry\/node\//

/** Telemetry is loaded where the outbox cannot run, such as in workers and browsers: outside of `telemetry/node` it imports only types of it. */
const TYPES_ONLY = { from: 'telemetry', of: 'outbox' }

/** The only file that reads the clock and random numbers for all others. The command line may read the wall clock. */
const SYSTEM_RUNTIME = 'src/core/runtime/system.ts'
const USES_WALL_CLOCK = 'cli'

/** `queueMicrotask` is allowed: it does not wait for time to pass. */
const TIME_AND_RANDOMNESS =
	/^(Date\.now|new Date|performance\.now|Math\.random|process\.hrtime|set(Timeout|Interval|Immediate)|AbortSignal\.timeout)$/

export const MAX_CHAIN = 12

export interface Violation {
	/** Names the violation in the list of known exceptions. It stays the same while numbers change. */
	readonly key: string
	readonly message: string
}

type Imports = ReadonlyMap<string, readonly Import[]>

const floorOf = (path: string): string => path.split('/')[1] ?? ''
const heightOf = (floor: string): number => FLOORS.findIndex((floors) => floors.includes(floor))
const resolve = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier)

/** Returns every violation. `entries` are the files that users import. */
export function findViolations(sources: readonly Source[], entries: readonly string[]): Violation[] {
	const imports: Imports = new Map(sources.map((source) => [source.path, findImports(source)]))
	const inFiles = [
		...sources.flatMap((source) => [
			...withoutFloor(source),
			...wrongImports(source.path, imports.get(source.path) ?? []),
			...timeAndRandomness(source),
		]),
		...fileCycles(imports),
	]
	return [
		...[...new Set(inFiles)].map((message) => ({ key: message, message })),
		...folderCycles(runTimeGraph(imports)),
		...entries.flatMap((entry) => longChain(entry, runTimeGraph(imports))),
	]
}

function withoutFloor({ path }: Source): string[] {
	return heightOf(floorOf(path)) < 0 ? [`${path}:1: src/${floorOf(path)} is not assigned to a floor`] : []
}

function wrongImports(path: string, imports: readonly Import[]): string[] {
	return imports.flatMap(({ name, line, kind }) => {
		const reason = name.startsWith('.')
			? (wrongFloor(path, name) ?? wrongValue(path, name, kind))
			: wrongModule(path, name)
		return reason === undefined ? [] : [`${path}:${line}: ${reason}`]
	})
}

function wrongFloor(path: string, specifier: string): string | undefined {
	const [from, to] = [floorOf(path), floorOf(resolve(path, specifier))]
	if (!resolve(path, specifier).startsWith('src/')) return `${specifier} is outside of src`
	if (from === to || heightOf(to) < heightOf(from)) return undefined
	const where = heightOf(to) === heightOf(from) ? 'the same floor' : 'a higher floor'
	return `${from} must not import ${to}, which is on ${where} (${specifier})`
}

function wrongValue(path: string, specifier: string, kind: Import['kind']): string | undefined {
	const { from, of } = TYPES_ONLY
	if (kind === 'type' || floorOf(path) !== from || NEEDS_NODE.test(path)) return undefined
	if (floorOf(resolve(path, specifier)) !== of) return undefined
	return `${from} must import only types of ${of}, which does not run anywhere (${specifier})`
}

function wrongModule(path: string, specifier: string): string | undefined {
	const floor = floorOf(path)
	if (/^yaoki(\/|$)/.test(specifier)) return `${specifier} is this package; import the file`
	if (specifier.startsWith('node:') || builtinModules.includes(specifier)) {
		const isAllowed = !RUNS_ANYWHERE.has(floor) || NEEDS_NODE.test(path)
		return isAllowed ? undefined : `${floor} must run anywhere, but imports ${specifier}`
	}
	return floor === 'core' ? `core must not have dependencies, but imports ${specifier}` : undefined
}

function timeAndRandomness(source: Source): string[] {
	const { path } = source
	if (path === SYSTEM_RUNTIME || floorOf(path) === USES_WALL_CLOCK) return []
	return findGlobals(source)
		.filter(({ name }) => TIME_AND_RANDOMNESS.test(name))
		.map(({ name, line }) => `${path}:${line}: ${name} is allowed only in ${SYSTEM_RUNTIME}; use the runtime`)
}

/** Files that import each other in a cycle, types included: they can only be understood together. */
function fileCycles(imports: Imports): string[] {
	const found: string[] = []
	const done = new Set<string>()
	const follow = (path: string, trail: readonly string[]): void => {
		if (done.has(path)) return
		for (const { name, line } of imports.get(path) ?? []) {
			const next = name.startsWith('.') ? resolve(path, name) : ''
			const chain = [...trail, path]
			if (chain.includes(next))
				found.push(
					`${path}:${line}: import cycle: ${[...chain.slice(chain.indexOf(next)), next].join(' -> ')}`,
				)
			else if (imports.has(next)) follow(next, chain)
		}
		done.add(path)
	}
	for (const path of imports.keys()) follow(path, [])
	return found
}

type Graph = ReadonlyMap<string, readonly string[]>

/** What is loaded together with a file. */
function runTimeGraph(imports: Imports): Graph {
	const loaded = ([path, found]: readonly [string, readonly Import[]]) => {
		const files = found.filter(({ kind, name }) => kind === 'static' && name.startsWith('.'))
		return [path, files.map(({ name }) => resolve(path, name))] as const
	}
	return new Map([...imports].map(loaded))
}

/** Folders that load each other, directly or through others. */
function folderCycles(graph: Graph): Violation[] {
	const folders = new Map<string, Set<string>>()
	for (const [path, next] of graph) {
		const from = posix.dirname(path)
		const others = next.map((file) => posix.dirname(file)).filter((to) => to !== from)
		folders.set(from, new Set([...(folders.get(from) ?? []), ...others]))
	}
	const reached = new Map([...folders.keys()].map((folder) => [folder, reachable(folder, folders)]))
	const inCycle = [...folders.keys()].filter((folder) => reached.get(folder)?.has(folder)).sort()
	const seen = new Set<string>()
	return inCycle.flatMap((folder) => {
		if (seen.has(folder)) return []
		const cycle = inCycle.filter(
			(other) => reached.get(folder)?.has(other) && reached.get(other)?.has(folder),
		)
		for (const other of cycle) seen.add(other)
		const names = cycle.join(', ')
		return [{ key: `folder cycle: ${names}`, message: `these folders import each other: ${names}` }]
	})
}

function reachable(from: string, graph: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
	const found = new Set<string>()
	const follow = (folder: string): void => {
		for (const next of graph.get(folder) ?? []) {
			if (found.has(next)) continue
			found.add(next)
			follow(next)
		}
	}
	follow(from)
	return found
}

/** The longest chain of files that an entry loads, each because the one before imports it. */
function longChain(entry: string, graph: Graph): Violation[] {
	const known = new Map<string, readonly string[]>()
	const longest = (path: string): readonly string[] => {
		const found = known.get(path)
		if (found) return found
		// Ends the search in a cycle, which is a violation of its own.
		known.set(path, [path])
		const next = (graph.get(path) ?? []).map(longest)
		const chain = [path, ...next.reduce((best, one) => (one.length > best.length ? one : best), [])]
		known.set(path, chain)
		return chain
	}
	const chain = longest(entry)
	if (chain.length <= MAX_CHAIN) return []
	return [
		{
			key: `long chain: ${entry}`,
			message: `${entry} loads a chain of ${chain.length} files; at most ${MAX_CHAIN} are allowed:\n  ${chain.join('\n  ')}`,
		},
	]
}
