import type { ComponentChildren, JSX } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { sanitizeText } from '../../src/text/sanitize.ts'
import type { PageWords } from '../words/words.ts'

/** Shows the error in place of what cannot be rendered. Without it, an exception in one part leaves the whole page empty. */
export function Boundary({ t, children }: { t: PageWords; children: ComponentChildren }): JSX.Element {
	const [error, tryAgain] = useErrorBoundary((thrown: unknown) => console.error(thrown))
	if (error === undefined) return <>{children}</>
	return (
		<section class="card" role="alert">
			<h1 tabIndex={-1}>{t.crashed}</h1>
			<p class="failed">{sanitizeText(String(error))}</p>
			<p>{t.crashedHelp}</p>
			<div class="buttons">
				<button type="button" onClick={tryAgain}>
					{t.tryAgain}
				</button>
				<button type="button" onClick={() => location.reload()}>
					{t.reload}
				</button>
			</div>
		</section>
	)
}
