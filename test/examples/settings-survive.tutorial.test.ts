/** The tutorial about settings in an outage: the verdict, the search, the comparison, and a test that fails for a bad policy. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Spawned } from '../cli/spawned.ts'
import { page, ROOT } from './markdown.ts'
import { createFolder } from './run-snippet.ts'
import { FROM_SOURCE, Tutorial } from './tutorial.ts'

test('the policy of today does not recover, and the better one survives both outages', async () => {
	const tutorial = new Tutorial('settings', 'settings-survive', {})
	const asserts = '--assert "recoveredAfterMs<=5000" --assert "amplification<=1.1"'
	const tune = `npx yaoki simulate today.ts --tune --replications 3 ${asserts} --assert "goodShare>=70%"`
	expect(await tutorial.runExactly('npx yaoki simulate normal.ts --replications 5')).toBe(0)
	expect(await tutorial.runExactly(`npx yaoki simulate today.ts --replications 5 ${asserts}`)).toBe(4)
	expect(await tutorial.runExactly(tune)).toBe(0)
	expect(await tutorial.runExactly('npx yaoki lint policy.ts --deadline-ms 2000')).toBe(0)
	expect(await tutorial.runExactly('npx yaoki simulate compare.ts')).toBe(0)
	expect(await tutorial.start('node survives.test.ts').ended()).toMatchObject({ code: 0 })
})

test('the test of the tutorial fails if the circuit has a fixed open time', async () => {
	const folder = createFolder()
	onTestFinished(() => rmSync(folder, { recursive: true }))
	cpSync(join(ROOT, 'examples/settings-survive'), folder, { recursive: true })
	const file = join(folder, 'policy.ts')
	const before = readFileSync(file, 'utf8')
	const after = before.replace(
		/circuitBreaker\(\{.*?\}\),\n\t\tretry/s,
		'circuitBreaker({ failureThreshold: 10 }),\n\t\tretry',
	)
	expect(after).not.toBe(before)
	writeFileSync(file, after)
	const { text } = page('docs/guide/tutorial-settings.md')
	expect(text).toContain('replace it by `circuitBreaker({ failureThreshold: 10 })`')
	const [error = 'no error on the page'] = /^ResilienceError: .+$/m.exec(text) ?? []
	const { code, stdout } = await new Spawned(join(folder, 'survives.test.ts'), [], {
		node: FROM_SOURCE,
	}).ended()
	expect(code).toBe(1)
	expect(stdout).toContain(error)
})
