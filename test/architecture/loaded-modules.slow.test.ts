import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { entryFiles } from './entries.ts'
import { KNOWN_TEST_CODE } from './known-exceptions.ts'

const root = new URL('../..', import.meta.url)

/** The conformance suites of stores, their test doubles, and assertions. */
const TEST_CODE = /^node:assert\b|^src\/(outbox|idempotency)\/(testing|conformance)\//

/** Imports an entry and prints every module that is loaded, with the module that imports it first. */
const PROGRAM = `
import { registerHooks } from 'node:module'
const loads = []
registerHooks({
	resolve(specifier, context, next) {
		const resolved = next(specifier, context)
		loads.push([context.parentURL ?? '', resolved.url])
		return resolved
	},
})
await import(process.argv[1])
process.stdout.write(JSON.stringify(loads))
process.exit()
`

/** Returns what an entry loads, as `importer -> module`, in a process of its own. */
function loadedBy(file: string): readonly (readonly [importer: string, module: string])[] {
	const entry = new URL(file, root).href
	const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROGRAM, entry]
	const loads: readonly (readonly [string, string])[] = JSON.parse(
		execFileSync(process.execPath, flags, { encoding: 'utf8', cwd: fileURLToPath(root) }),
	)
	const short = (url: string) => url.replace(root.href, '')
	return loads.map(([importer, module]) => [short(importer), short(module)] as const)
}

/** The command runs when it is imported, so its static imports are covered by the rules. */
const production = [...entryFiles()].filter(([name]) => !/testing$/.test(name) && name !== 'yaoki')

test.each(production)('%s loads no test code', (name, file) => {
	const loaded = loadedBy(file)
	expect(loaded.map(([, module]) => module)).toContain(file)
	const testCode = loaded.filter(([, module]) => TEST_CODE.test(module)).map((load) => load.join(' loads '))
	if (KNOWN_TEST_CODE.includes(name))
		expect(testCode, 'remove the entry from the known exceptions').not.toEqual([])
	else expect(testCode).toEqual([])
})

test('a dashboard of policies loads no outbox, no page and no module of Node', () => {
	const loaded = loadedBy('src/dashboard/index.ts').map(([, module]) => module)
	expect(loaded).toContain('src/dashboard/server/server.ts')
	// The names of endpoints are constants.
	const others =
		/^node:|^src\/(outbox|webhooks\/(?!endpoint-names)|idempotency|http|grpc|sim|cli)\b|page-data/
	expect(loaded.filter((module) => others.test(module))).toEqual([])
})

test('finds test code that is loaded', () => {
	const loaded = loadedBy('test/architecture/loads-test-code.ts')
	expect(loaded.filter(([, module]) => TEST_CODE.test(module)).length).toBeGreaterThan(0)
})
