/**
 * `npm run playground`: builds the page in playground/ into one file, dist/playground/index.html, that loads nothing else. Its
 * program is compressed: as text it would be a tenth of the package.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { ROOT } from './tools.ts'

/** The page must open quickly. */
const MOST_BYTES = 100_000

/** The browser enforces that the page loads nothing: a forgotten request fails instead of leaving the machine. */
const POLICY = [
	"default-src 'none'",
	"script-src 'unsafe-inline'",
	"style-src 'unsafe-inline'",
	'img-src data:',
	"base-uri 'none'",
	"form-action 'none'",
].join('; ')

/** Builds the page into a folder. Returns the path of its file and the size in bytes. */
export async function buildPlayground(folder: string): Promise<{ file: string; bytes: number }> {
	const { html, script, style } = await bundle()
	const page = inlined(html, script, style)
	const bytes = Buffer.byteLength(page)
	if (bytes > MOST_BYTES)
		throw new Error(`The playground has ${bytes} bytes; at most ${MOST_BYTES} are allowed.`)
	const file = join(folder, 'index.html')
	mkdirSync(folder, { recursive: true })
	writeFileSync(file, page)
	return { file, bytes }
}

interface Bundle {
	readonly html: string
	readonly script: string
	readonly style: string
}

async function bundle(): Promise<Bundle> {
	const built = await build({
		root: join(ROOT, 'playground'),
		configFile: false,
		logLevel: 'warn',
		build: {
			write: false,
			target: 'es2023',
			modulePreload: false,
			cssMinify: true,
			rolldownOptions: { output: { codeSplitting: false } },
		},
	})
	if (!('output' in built)) throw new Error('Vite did not return a single bundle.')
	const parts = { html: '', script: '', style: '' }
	for (const part of built.output) {
		if (part.type === 'chunk') parts.script += part.code
		else if (part.fileName.endsWith('.html')) parts.html += String(part.source)
		else if (part.fileName.endsWith('.css')) parts.style += String(part.source)
		else throw new Error(`The playground has a file that cannot be inlined: ${part.fileName}`)
	}
	return parts
}

/** Replacements are functions, because `replace` treats `$` in a text as a pattern. */
function inlined(html: string, script: string, style: string): string {
	// Before the rest is inserted: a line break in the program may be part of a string.
	const page = html
		.replaceAll(/\n\s*/g, '\n')
		.replace(/<script[^>]*><\/script>/, '')
		.replaceAll(/<link[^>]*rel="stylesheet"[^>]*>/g, '')
		.replace('<meta charset="utf-8" />', (first) => `${first}${meta()}`)
		.replace('</head>', () => `<style>${style.trim()}</style></head>`)
		.replace('</body>', () => `<script type="module">${unpacking(script.trim())}</script></body>`)
	const left = /<(script|link|img)[^>]*\s(src|href)="(?!data:)[^"]*"/.exec(page)
	if (left) throw new Error(`The playground still loads something: ${left[0]}`)
	return page
}

const meta = (): string => `<meta http-equiv="Content-Security-Policy" content="${POLICY}" />`

/** Returns a program that unpacks the script and runs it. */
const unpacking = (script: string): string =>
	[
		`const bytes = Uint8Array.from(atob('${gzipSync(script, { level: 9 }).toString('base64')}'), (c) => c.charCodeAt(0))`,
		"const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))",
		"const script = Object.assign(document.createElement('script'), { type: 'module' })",
		'script.textContent = await new Response(text).text()',
		'document.body.append(script)',
	].join('\n')

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const { bytes } = await buildPlayground(join(ROOT, 'dist', 'playground'))
	console.log(`dist/playground/index.html: ${(bytes / 1_000).toFixed(1)} kB`)
}
