import type { JSX } from 'preact'
import { useShared } from '../context.ts'
import type { Pages } from '../data/use-pages.ts'

/** Continues a list, or stops what is loading. */
export function More<Item>({ pages }: { pages: Pages<Item> }): JSX.Element | null {
	const { t } = useShared()
	if (pages.isLoading && pages.items.length > 0)
		return (
			<p class="more">
				{t.loading}{' '}
				<button type="button" onClick={pages.stop}>
					{t.stop}
				</button>
			</p>
		)
	if (pages.next === null) return null
	return (
		<p class="more">
			<button type="button" onClick={pages.more}>
				{t.more}
			</button>
		</p>
	)
}
