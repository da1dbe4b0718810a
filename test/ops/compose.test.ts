/**
 * ops/compose.yaml and the files that it mounts. Containers are not started: Grafana is in neither npm nor Debian. The queries of the dashboard and the rules run
 * in a real Prometheus elsewhere, see prometheus-scrape.slow.test.ts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../examples/markdown.ts'

const OPS = join(ROOT, 'ops')
const read = (path: string): unknown => parse(readFileSync(join(OPS, path), 'utf8'), { strict: true })

interface Service {
	readonly image: string
	readonly ports: readonly string[]
	readonly volumes: readonly string[]
	readonly depends_on?: readonly string[]
}

const { services } = read('compose.yaml') as { services: Readonly<Record<string, Service>> }

interface Mount {
	/** Relative to ops/. */
	readonly source: string
	readonly target: string
	readonly mode: string | undefined
}

function mountsOf(service: string): readonly Mount[] {
	return (services[service]?.volumes ?? []).map((volume) => {
		const [source = '', target = '', mode] = volume.split(':')
		return { source, target, mode }
	})
}

/** Returns the path below ops/ of a file in a container, or undefined if no mount contains it. */
function mounted(service: string, path: string): string | undefined {
	const mount = mountsOf(service).find(({ target }) => path === target || path.startsWith(`${target}/`))
	return mount && posix.join(mount.source, path.slice(mount.target.length))
}

/** Returns what is in a folder of a container: file names with their paths below ops/. */
function listing(service: string, folder: string): readonly string[] {
	const whole = mounted(service, folder)
	if (whole !== undefined) return readdirSync(join(OPS, whole)).map((name) => posix.join(whole, name))
	return mountsOf(service)
		.filter(({ target }) => posix.dirname(target) === folder)
		.map(({ source }) => posix.normalize(source))
}

describe.each(Object.entries(services))('the service %s', (name, { image, ports, depends_on = [] }) => {
	test('mounts only what exists, read-only', () => {
		const mounts = mountsOf(name)
		expect(mounts.length).toBeGreaterThan(0)
		expect(mounts.filter(({ source }) => !existsSync(join(OPS, source)))).toEqual([])
		expect(mounts.filter(({ source, mode }) => !source.startsWith('./') || mode !== 'ro')).toEqual([])
	})

	test('has a pinned image, and listens on loopback only', () => {
		expect(image).toMatch(/^[\w/]+:v?\d+\.\d+\.\d+$/)
		expect(ports.filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([])
	})

	test('depends on services that exist', () => {
		expect(depends_on.filter((other) => !(other in services))).toEqual([])
	})
})

interface PrometheusConfig {
	readonly global: Readonly<Record<string, string>>
	readonly rule_files: readonly string[]
	readonly scrape_configs: readonly { honor_labels: boolean; static_configs: { targets: string[] }[] }[]
}

// What the image reads without arguments.
const CONFIG = '/etc/prometheus/prometheus.yml'
const prometheus = () => read(mounted('prometheus', CONFIG) ?? '') as PrometheusConfig

test('Prometheus finds the generated rules beside its configuration', () => {
	const rules = prometheus().rule_files.map((file) =>
		mounted('prometheus', posix.join(posix.dirname(CONFIG), file)),
	)
	expect(rules).toEqual(['prometheus/yaoki-alerts.yml'])
})

test('Prometheus scrapes the host with honor_labels, at the port of the guide', () => {
	const [{ honor_labels, static_configs } = { honor_labels: false, static_configs: [] }] =
		prometheus().scrape_configs
	expect(honor_labels).toBe(true)
	expect(static_configs).toEqual([{ targets: ['host.docker.internal:9464'] }])
	expect(readFileSync(join(ROOT, 'docs/guide/metrics-endpoint.md'), 'utf8')).toContain('server.listen(9464)')
})

interface DataSource {
	readonly uid: string
	readonly type: string
	readonly url: string
	readonly isDefault: boolean
	readonly jsonData: { readonly timeInterval: string }
}

interface Dashboard {
	readonly uid: string
	readonly templating: { readonly list: readonly { name: string; type: string; query: unknown }[] }
}

const provisioned = <T>(kind: string): readonly T[] =>
	listing('grafana', `/etc/grafana/provisioning/${kind}`).flatMap(
		(path) =>
			(read(path) as Readonly<Record<string, readonly T[]>>)[kind === 'dashboards' ? 'providers' : kind] ??
			[],
	)
const dataSources = () => provisioned<DataSource>('datasources')
const dashboards = () =>
	provisioned<{ type: string; options: { path: string } }>('dashboards')
		.flatMap(({ options }) => listing('grafana', options.path))
		.map((path) => read(path) as Dashboard)

/** Returns the data sources that a value refers to, at any depth. */
function referencesIn(value: unknown): readonly { type: string; uid: string }[] {
	if (typeof value !== 'object' || value === null) return []
	return Object.entries(value).flatMap(([key, inner]) =>
		key === 'datasource' ? [inner] : referencesIn(inner),
	)
}

test('Grafana loads the generated dashboard', () => {
	expect(dashboards().map(({ uid }) => uid)).toEqual(['yaoki'])
})

test('Grafana has one data source, the default, which is the Prometheus of the same file', () => {
	const [{ url, isDefault, jsonData } = { url: '', isDefault: false, jsonData: undefined }, ...others] =
		dataSources()
	expect({ isDefault, others }).toEqual({ isDefault: true, others: [] })
	const { hostname, port } = new URL(url)
	expect(services[hostname]?.ports).toEqual([`127.0.0.1:${port}:${port}`])
	expect(jsonData?.timeInterval).toBe(prometheus().global['scrape_interval'])
})

test('every data source of the dashboard is the provisioned one', () => {
	const [source] = dataSources()
	for (const dashboard of dashboards()) {
		const references = referencesIn(dashboard)
		expect(references.length).toBeGreaterThan(10)
		for (const { type, uid } of references) {
			const variable = dashboard.templating.list.find(({ name }) => uid === `$${name}`)
			// A variable of this kind lists the data sources of a type, and starts with the default.
			if (variable === undefined) expect({ type, uid }).toEqual({ type: source?.type, uid: source?.uid })
			else expect([variable.type, variable.query, type]).toEqual(['datasource', source?.type, source?.type])
		}
	}
})
