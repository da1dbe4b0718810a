/** The groups of a PrometheusRule, checked by Prometheus' own `promtool`, as the Prometheus Operator passes them to Prometheus. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { HAS_PROMETHEUS, PROMTOOL } from '../../support/real-prometheus.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'

test.skipIf(!HAS_PROMETHEUS)('promtool accepts the groups of a PrometheusRule', async () => {
	const { stdout } = await run(['gen', 'alerts', '--kubernetes', '--slo', '99.9'])
	const { groups } = parse(stdout).spec
	const file = join(temporaryFolder(), 'rules.yml')
	// JSON is valid YAML.
	writeFileSync(file, JSON.stringify({ groups }))
	const checked = await promisify(execFile)(PROMTOOL, ['check', 'rules', file])
	expect(checked.stdout).toContain(`SUCCESS: ${groups[0].rules.length} rules found`)
})
