/**
 * A module as a user may write it: it imports every name of every entry without renaming one, and exports a result of every function and
 * class. With `declaration: true` the compiler has to name the types of these results, so it rejects a type that only the package can name.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { exportedSubpaths } from './build/layout.ts'
import type { Packed } from './pack.ts'
import { readDeclarations } from './surface/declarations.ts'

/** Calls of functions whose results depend on what is passed. All others are called with what their parameters allow. */
const CALLS: Readonly<Record<string, string>> = {
	axiosAdapter: 'axiosAdapter<any, any>({} as any)',
	postgresIdempotencyStore: 'postgresIdempotencyStore({ client: {} as any })',
	resilientInterceptor: 'resilientInterceptor({} as any)',
	resilientServerInterceptor: 'resilientServerInterceptor({} as any)',
	skipDelays: 'skipDelays(retry())',
	// Programs export the handlers and not the object: a route of Next.js is an export.
	metricsEndpoint: '{ ...metricsEndpoint(inMemoryMetrics()) }',
	openTelemetry: '{ ...openTelemetry({} as any).server }',
	// Its constructor is private.
	Deadline: 'Deadline.after(1)',
}

export function userModule({ home, entries }: Packed): string {
	const require = createRequire(join(home, 'user.js'))
	const targets = exportedSubpaths().map(([, target]) => target.require.types)
	const seen = new Set<string>()
	const lines = [...entries.keys()].flatMap((entry, index) => {
		const values: Readonly<Record<string, unknown>> = require(entry)
		const types = join(home, 'node_modules', 'yaoki', targets[index] ?? '')
		// A name that two entries export is the same declaration, and is imported once.
		const names = [...readDeclarations(types).exported.keys()].filter((name) => !seen.has(name))
		for (const name of names) seen.add(name)
		const imported = names.map((name) => (name in values ? name : `type ${name}`))
		const results = names
			.filter((name) => name in values)
			.map((name) => `export const $${name} = ${callOf(name, values[name])}`)
		return [`import { ${imported.join(', ')} } from '${entry}'`, ...results]
	})
	return `${lines.join('\n')}\n`
}

function callOf(name: string, value: unknown): string {
	const isClass = String(value).startsWith('class')
	if (typeof value !== 'function') return name
	if (isClass) return CALLS[name] ?? `new ${name}(...({} as ConstructorParameters<typeof ${name}>))`
	return CALLS[name] ?? `${name}(...({} as Parameters<typeof ${name}>))`
}
