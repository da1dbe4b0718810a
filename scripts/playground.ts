/**
 * `npm run playground`: the page in playground/ as one file, dist/playground/index.html, which asks nobody for anything. It is the one
 * thing that is bundled here, with the bundler that the tests bring along.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vite'
import { ROOT } from './tools.ts'

/** The page must stay one that opens at once. */
const MOST_BYTES = 150_000

/** The browser is told as well that nothing is to be fetched: what slipped in would fail, and not phone home. */
const POLICY = [
	"default-src 'none'",
	"script-src 'unsafe-inline'",
	"style-src 'unsafe-inline'",
	'img-src data:',
	"base-uri 'none'",
	"form-action 'none'",
].join('; ')

/** Builds the page into a folder, and answers the path of its one file and how many bytes that has. */
export async function buildPlayground(folder: string): Promise<{ file: string; bytes: number }> {
	const { html, script, style } = await bundle()
	const page = inlined(html, script, style)
	const bytes = Buffer.byteLength(page)
	if (bytes > MOST_BYTES) throw new Error(`the playground has ${bytes} bytes, and may have ${MOST_BYTES}`)
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
	if (!('output' in built)) throw new Error('vite has built something else than one bundle')
	const parts = { html: '', script: '', style: '' }
	for (const part of built.output) {
		if (part.type === 'chunk') parts.script += part.code
		else if (part.fileName.endsWith('.html')) parts.html += String(part.source)
		else if (part.fileName.endsWith('.css')) parts.style += String(part.source)
		else throw new Error(`the playground has a file that can not be inlined: ${part.fileName}`)
	}
	return parts
}

/** What is put in comes from functions, for the `$` in a text would be read as a pattern. */
function inlined(html: string, script: string, style: string): string {
	// Before the rest is put in: a line end in the program may be part of a text.
	const page = html
		.replaceAll(/\n\s*/g, '\n')
		.replace(/<script[^>]*><\/script>/, '')
		.replaceAll(/<link[^>]*rel="stylesheet"[^>]*>/g, '')
		.replace('<meta charset="utf-8" />', (first) => `${first}${meta()}`)
		.replace('</head>', () => `<style>${style.trim()}</style></head>`)
		.replace('</body>', () => `<script type="module">${safe(script.trim())}</script></body>`)
	const left = /<(script|link|img)[^>]*\s(src|href)="(?!data:)[^"]*"/.exec(page)
	if (left) throw new Error(`the playground still asks for something: ${left[0]}`)
	return page
}

const meta = (): string => `<meta http-equiv="Content-Security-Policy" content="${POLICY}" />`

/** A text in the program must not end the element that the program is in. */
const safe = (script: string): string => script.replaceAll(/<(?=\/script|!--)/gi, '\\x3C')

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const { bytes } = await buildPlayground(join(ROOT, 'dist', 'playground'))
	console.log(`dist/playground/index.html: ${(bytes / 1_000).toFixed(1)} kB`)
}
