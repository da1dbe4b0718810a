/**
 * The house that DESIGN describes, as rules over its sources: which floor may import which, where a clock may be read,
 * and what must run anywhere. Pure functions, so that the test can show every rule a house that breaks it.
 */
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { type Found, globalsOf, importsOf, type Source } from './syntax.ts'

/** From the ground up. A floor imports only those below it: neither one above nor one beside it. */
const FLOORS: readonly (readonly string[])[] = [
	['core'],
	['testing', 'node', 'text'],
	['sim', 'http', 'idempotency', 'grpc', 'telemetry'],
	['outbox'],
	['dashboard'],
	['cli'],
]

/** These run in browsers and at the edge, where there is no `node:`. */
const ANYWHERE = new Set(['core', 'testing', 'text', 'http', 'sim'])

/** The one file that touches time and chance for all the others; a command line may read the clock on its wall. */
const SYSTEM_RUNTIME = 'src/core/runtime/system.ts'
const ON_THE_WALL_CLOCK = 'cli'

/** `queueMicrotask` is not among them: it waits for no time. */
const CLOCKS_AND_CHANCE =
	/^(Date\.now|new Date|performance\.now|Math\.random|process\.hrtime|set(Timeout|Interval|Immediate)|AbortSignal\.timeout)$/

const floorOf = (path: string): string => path.split('/')[1] ?? ''
const heightOf = (floor: string): number => FLOORS.findIndex((floors) => floors.includes(floor))

/** Every breach of the rules, each as `file:line: reason`. */
export function breaches(sources: readonly Source[]): string[] {
	const imports = new Map(sources.map((source) => [source.path, importsOf(source)]))
	const found = [
		...sources.flatMap((source) => [
			...homeless(source),
			...imported(source.path, imports.get(source.path) ?? []),
			...timeAndChance(source),
		]),
		...cycles(imports),
	]
	return [...new Set(found)]
}

function homeless({ path }: Source): string[] {
	return heightOf(floorOf(path)) < 0 ? [`${path}:1: src/${floorOf(path)} is on no floor`] : []
}

function imported(path: string, imports: readonly Found[]): string[] {
	return imports.flatMap(({ what, line }) => {
		const reason = what.startsWith('.') ? strangeFloor(path, what) : strangeModule(floorOf(path), what)
		return reason === undefined ? [] : [`${path}:${line}: ${reason}`]
	})
}

function strangeFloor(path: string, specifier: string): string | undefined {
	const [from, to] = [floorOf(path), floorOf(resolve(path, specifier))]
	if (!resolve(path, specifier).startsWith('src/')) return `${specifier} is outside of src`
	if (from === to || heightOf(to) < heightOf(from)) return undefined
	const where = heightOf(to) === heightOf(from) ? 'beside' : 'above'
	return `${from} imports ${to}, which is ${where} it (${specifier})`
}

function strangeModule(floor: string, specifier: string): string | undefined {
	if (/^yaoki(\/|$)/.test(specifier)) return `${specifier} is this package: import the file`
	if (specifier.startsWith('node:') || builtinModules.includes(specifier))
		return ANYWHERE.has(floor) ? `${floor} runs anywhere and imports ${specifier}` : undefined
	return floor === 'core' ? `core has no dependency and imports ${specifier}` : undefined
}

function timeAndChance(source: Source): string[] {
	const { path } = source
	if (path === SYSTEM_RUNTIME || floorOf(path) === ON_THE_WALL_CLOCK) return []
	return globalsOf(source)
		.filter(({ what }) => CLOCKS_AND_CHANCE.test(what))
		.map(({ what, line }) => `${path}:${line}: ${what} outside of ${SYSTEM_RUNTIME}: ask the runtime`)
}

/** Files that import each other in a ring, types included: such files can only be understood together. */
function cycles(imports: ReadonlyMap<string, readonly Found[]>): string[] {
	const found: string[] = []
	const done = new Set<string>()
	const follow = (path: string, trail: readonly string[]): void => {
		if (done.has(path)) return
		for (const { what, line } of imports.get(path) ?? []) {
			const next = what.startsWith('.') ? resolve(path, what) : ''
			const ring = [...trail, path]
			if (ring.includes(next))
				found.push(
					`${path}:${line}: an import cycle: ${[...ring.slice(ring.indexOf(next)), next].join(' -> ')}`,
				)
			else if (imports.has(next)) follow(next, ring)
		}
		done.add(path)
	}
	for (const path of imports.keys()) follow(path, [])
	return found
}

const resolve = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier)
