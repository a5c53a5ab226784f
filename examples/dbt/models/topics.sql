-- Mentions and visibility of each topic on each day.
select
    {% if var('accounts') %}account,{% endif %}
    date,
    topic_name,
    count(*) as prompts,
    sum(mentions) as mentions,
    avg(visibility_score) as visibility
from {{ ref('stg_prompts_analytics') }}
group by all
