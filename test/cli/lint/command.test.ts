import { describe, expect, test } from 'vitest'
import { lint, pipeline, retry, timeout } from 'yaoki'
import { run } from '../outbox/run-yaoki.ts'
import { CORE, Folder } from '../simulate/files.ts'

const HTTP: string = new URL('../../../src/http/index.ts', import.meta.url).href
const IMPORTS = `import { pipeline, retry, timeout } from ${JSON.stringify(CORE)}
import { ResilientHttpClient, resilientFetch } from ${JSON.stringify(HTTP)}
`
const GOOD = `export const good = pipeline({ name: 'good' }, retry(), timeout(2_000))\n`
const USERS = `export const users = pipeline({ name: 'users' }, retry({ jitterStrategy: 'none' }), timeout(2_000))\n`

const write = (code: string): string => new Folder().write('policies.mts', IMPORTS + code)
const usersReport = (deadlineMs?: number) =>
	lint(pipeline({ name: 'users' }, retry({ jitterStrategy: 'none' }), timeout(2_000)), { deadlineMs })

describe('lint', () => {
	test('prints the report of each policy, and exits with 4 if one has findings', async () => {
		const file = write(`${GOOD}${USERS}export const other = 1\n`)
		const { code, stdout, stderr } = await run(['lint', file])
		const good = lint(pipeline({ name: 'good' }, retry(), timeout(2_000)))
		expect(good.findings).toEqual([])
		expect(stdout).toBe(`${good}\n${usersReport()}\n`)
		expect({ code, stderr }).toEqual({ code: 4, stderr: `1 finding in ${file}\n` })
	})

	test('exits with 0 and without a note if there are no findings', async () => {
		expect(await run(['lint', write(GOOD)])).toMatchObject({ code: 0, stderr: '' })
	})

	test('compares the worst case with --deadline-ms', async () => {
		const { code, stdout } = await run(['lint', write(GOOD), '--deadline-ms', '50'])
		expect(code).toBe(4)
		expect(stdout).toContain('exceeds-deadline (good)')
	})

	test('lints only the exports that --export names', async () => {
		const file = write(GOOD + USERS)
		expect(await run(['lint', file, '--export', 'good'])).toMatchObject({ code: 0 })
		const both = await run(['lint', file, '--json', '-e', 'users', '-e', 'good'])
		expect(JSON.parse(both.stdout).map((one: { export: string }) => one.export)).toEqual(['good', 'users'])
	})

	test('lints clients and default exports, and names exports that differ from the policy', async () => {
		const file = write(
			"export const api = new ResilientHttpClient()\nexport default resilientFetch({ jitterStrategy: 'none' })\n",
		)
		const { code, stdout } = await run(['lint', file])
		expect(code).toBe(4)
		expect(stdout).toMatch(/^api: .*: at most /m)
		expect(stdout).toMatch(/^default: .*: at most /m)
		expect(stdout).toContain('no-jitter')
	})

	test('lints a policy that is exported twice once, by a name and not as the default', async () => {
		const file = write(`export { users as default }\n${USERS}export { users as zoo }\n`)
		const { stdout, stderr } = await run(['lint', file, '--json'])
		expect(JSON.parse(stdout).map((one: { export: string }) => one.export)).toEqual(['users'])
		expect(stderr).toBe(`1 finding in ${file}\n`)
		const named = await run(['lint', file, '--json', '--export', 'zoo'])
		expect(JSON.parse(named.stdout)).toMatchObject([{ export: 'zoo' }])
	})

	test('--json prints each report with its export', async () => {
		const { code, stdout } = await run(['lint', write(USERS), '--json', '--deadline-ms', '100'])
		expect(code).toBe(4)
		expect(JSON.parse(stdout)).toEqual([{ export: 'users', ...usersReport(100) }])
	})

	test('does not list "module.exports" of CommonJS as an export', async () => {
		const file = new Folder().write('p.cjs', 'module.exports = 1')
		expect((await run(['lint', file])).stderr).toContain('Its exports: default.')
	})
})

describe('lint rejects', () => {
	test('an export that does not exist, with the names of the exports', async () => {
		const { code, stdout, stderr } = await run(['lint', write(GOOD + USERS), '--export', 'user'])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(
			'Unknown value "user" for --export. Did you mean "users"? Valid values: good, users.',
		)
	})

	test('an export that is neither a policy nor a client', async () => {
		const file = write(`${GOOD}export const other = 1\n`)
		const { code, stderr } = await run(['lint', file, '--export', 'other'])
		expect(code).toBe(2)
		expect(stderr).toContain(`Export "other" of ${file} is not a policy or a client.`)
	})

	test('a file without policies, so that a check of nothing does not pass', async () => {
		const file = write('export const [a, b] = [1, null]\n')
		const { code, stdout, stderr } = await run(['lint', file])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(`${file} exports no policy and no client. Its exports: a, b.`)
	})

	test('JSON, a missing file and a module that throws', async () => {
		const json = new Folder().write('a.json', {})
		expect((await run(['lint', json])).stderr).toContain('expected a file with extension .js, .mjs')
		expect(await run(['lint', json.replace('a.json', 'b.ts')])).toMatchObject({ code: 3 })
		const { code, stderr } = await run(['lint', write("throw new Error('no database')\n")])
		expect(code).toBe(1)
		expect(stderr).toContain('no database')
		expect(await run(['lint'])).toMatchObject({ code: 2 })
	})
})
