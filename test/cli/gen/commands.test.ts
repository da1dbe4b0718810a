import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'

const committed = (path: string): string =>
	readFileSync(new URL(`../../../ops/${path}`, import.meta.url), 'utf8')

describe.each([
	['grafana', 'grafana/yaoki.json'],
	['alerts', 'prometheus/yaoki-alerts.yml'],
])('gen %s', (kind, file) => {
	test(`prints ops/${file}; if it does not, run: yaoki gen ${kind} > ops/${file}`, async () => {
		const { code, stdout, stderr } = await run(['gen', kind])
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		expect(stdout).toBe(committed(file))
	})

	test('writes the same to a file', async () => {
		const out = join(temporaryFolder(), 'out')
		const { code, stdout, stderr } = await run(['gen', kind, '--out', out])
		expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `wrote ${out}\n` })
		expect(readFileSync(out, 'utf8')).toBe(committed(file))
	})

	test('rejects a folder, and a file in a folder that does not exist', async () => {
		const folder = temporaryFolder()
		expect(await run(['gen', kind, '--out', folder])).toMatchObject({ code: 2, stdout: '' })
		expect(await run(['gen', kind, '--out', join(folder, 'no', 'such')])).toMatchObject({ code: 3 })
	})
})

test('gen alerts --json prints the same rules as data, with links to another runbook', async () => {
	const { stdout } = await run(['gen', 'alerts', '--json', '--runbook', 'https://wiki.internal/yaoki'])
	const { groups } = JSON.parse(stdout)
	expect(groups[0].rules[0]).toMatchObject({
		alert: 'YaokiRetryRateHigh',
		annotations: { runbook_url: 'https://wiki.internal/yaoki#yaokiretryratehigh' },
	})
})

test('alerts have no link without --runbook, because the package has no public page', async () => {
	const { stdout } = await run(['gen', 'alerts', '--json'])
	const { groups } = JSON.parse(stdout)
	expect(Object.keys(groups[0].rules[0].annotations)).toEqual(['summary', 'description'])
})
