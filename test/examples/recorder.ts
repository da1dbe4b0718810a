/** Records the policies, clients and engines that an example creates, so that `lint` can check them. */
import { lint } from 'yaoki'
import { Pipeline } from '../../src/core/engine/pipeline.ts'
import { isPolicy } from '../../src/core/engine/policy.ts'
import { inspectionOf } from '../../src/core/observe/inspection.ts'

type Linted = Parameters<typeof lint>[0]

/** Those that no other one contains. */
const outermost = new Set<unknown>()

/** Returns functions and classes of the package that record what they create. */
export function recorded<Factories extends object>(factories: Factories): Factories {
	const entries = Object.entries(factories).map(([name, value]) => [
		name,
		typeof value === 'function' ? recording(value) : value,
	])
	return Object.fromEntries(entries)
}

const recording = (factory: (...args: unknown[]) => unknown): object =>
	new Proxy(factory, {
		apply: (create, self, args) => record(Reflect.apply(create, self, args), args),
		construct: (create, args, target) => record(Reflect.construct(create, args, target), args),
	})

function record<Created>(created: Created, args: readonly unknown[]): Created {
	for (const arg of args) outermost.delete(arg)
	if (isPolicy(created) || inspectionOf(created)) outermost.add(created)
	return created
}

/** Returns the codes of all findings, and forgets what was recorded. */
export function recordedFindings(): readonly string[] {
	const codes = [...outermost].flatMap((one) =>
		lint(one as Linted)
			.findings.map(({ code }) => code)
			// A policy that is shown alone is a part of a pipeline, which has the timeout.
			.filter((code) => code !== 'no-timeout' || one instanceof Pipeline || !isPolicy(one)),
	)
	outermost.clear()
	return [...new Set(codes)].sort()
}

/** Returns the codes that an example names: `// lint: no-jitter, retry-count (why)`. */
export const namedFindings = (code: string): readonly string[] =>
	[...code.matchAll(/\/\/ lint: ([\w-]+(?:, [\w-]+)*)/g)]
		.flatMap(([, codes = '']) => codes.split(', '))
		.sort()
