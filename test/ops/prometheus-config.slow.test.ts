/** The configuration of ops/compose.yaml, read by Prometheus' own `promtool`. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../examples/markdown.ts'
import { HAS_PROMETHEUS, PROMTOOL } from '../support/real-prometheus.ts'

test.skipIf(!HAS_PROMETHEUS)('promtool accepts the configuration with its rules', async () => {
	const config = join(ROOT, 'ops', 'prometheus', 'prometheus.yml')
	const { stdout } = await promisify(execFile)(PROMTOOL, ['check', 'config', config])
	expect(stdout).toContain('SUCCESS: 1 rule files found')
	expect(stdout).toMatch(/SUCCESS: \d+ rules found/)
})
