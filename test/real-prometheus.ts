/** A real Prometheus for tests, on loopback, with its data in a temporary folder. */
import { existsSync } from 'node:fs'

/** Debian's. */
const PROMETHEUS = '/usr/bin/prometheus'
export const PROMTOOL = '/usr/bin/promtool'

/** False where tests with Prometheus are skipped. In CI they fail instead, so that none is skipped unnoticed. */
export const HAS_PROMETHEUS: boolean =
	(existsSync(PROMETHEUS) && existsSync(PROMTOOL)) || Boolean(process.env['CI'])
